// What commands of a machine can do to files that programs outside of the jail execute or trust, in
// every grade of this host.
#include "machine/protection.h"

#include <algorithm>
#include <fstream>

#include <sys/stat.h>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "jail/testing/leases.h"
#include "workspace/linked_worktree.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;
using workspace::CreatedFiles;
using workspace::Workspace;

/// The owner of the workspace, where guests can have another uid than the test.
constexpr uid_t kOwner = 12345;

/// The jails of these tests have a /tmp of their own, which would hide a workspace there.
struct OutsideOfTmp {
  OutsideOfTmp() { ::setenv("TMPDIR", "/var/tmp", 1); }
};

class Protected : public jail::Leases {
 protected:
  void SetUp() override {
    jail::Leases::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    lease_.reset();
    host_.Write("ws/.git/config", "[core]\n");
    host_.Write("ws/.git/HEAD", "ref: refs/heads/main\n");
    host_.WriteExecutable("ws/.git/hooks/pre-commit", "#!/bin/sh\n");
    host_.Write("ws/.envrc", "echo\n");
    host_.Write("ws/src/main.c", "int main;\n");
    Give(host_.path());
  }

  void TearDown() override {
    protection_.reset();
    shared_.reset();
    workspace_.reset();
  }

  std::string root() const { return host_.path() + "/ws"; }

  /// Makes the owner of the workspace the owner of everything below `path`.
  static void Give(const std::string& path) {
    if (!GetParam().own_uids) return;
    EXPECT_EQ(::lchown(path.c_str(), kOwner, kOwner), 0);
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
      EXPECT_EQ(::lchown(entry.path().c_str(), kOwner, kOwner), 0);
    }
  }

  void Open(CreatedFiles created = CreatedFiles::kMoveAside,
            const std::string& setting = "default") {
    auto opened =
        Workspace::Open("ws", root(),
                        {.protection = workspace::ProtectedPaths::FromSetting(setting).value(),
                         .created = created});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    workspace_ = std::move(opened).value();
    jail::LeaseOptions options = Options(1);
    if (GetParam().own_uids) options.slot.spec.guest_uid = kOwner;
    options.slot.spec.trees.push_back({.source = root(), .target = root(), .writable = true});
    std::vector<GuardedTree> trees = {{workspace_->root().directory, root(), ""}};
    auto linked = workspace::FindLinkedWorktree(*workspace_);
    ASSERT_TRUE(linked.ok()) << linked.error().message();
    linked_ = std::move(linked).value();
    if (linked_) {
      const std::string& path = linked_->repository;
      options.slot.spec.trees.push_back({.source = path, .target = path, .writable = true});
      trees.push_back({linked_->directory.get(), path, ".git"});
    }
    auto made = jail::Lease::Make(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    shared_ = std::move(made).value();
    auto protection =
        Protection::Make(shared_, {.trees = trees,
                                   .workspace = *workspace_,
                                   .guard = has_namespaces() ? Guard::kSeals : Guard::kCopies,
                                   .grace = grace_});
    ASSERT_TRUE(protection.ok()) << protection.error().message();
    protection_ = std::move(protection).value();
  }

  jail::Process Begin(const std::string& script) {
    const Status protects = protection_->BeforeStart();
    EXPECT_TRUE(protects.ok()) << protects.error().message();
    jail::ProcessRequest request = {
        .argv = {"/bin/bash", "-c", "exec 2>&1; " + script},
        .env = {"PATH=/usr/bin:/bin", "HOME=/tmp", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2",
                "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=N", "GIT_CONFIG_KEY_1=user.email",
                "GIT_CONFIG_VALUE_1=n@example.org"},
        .directory = root(),
        .limits = {}};
    request.limits.wall_time = {};
    request.limits.cpu_time = {};
    jail::Process process = StartIn(*shared_, request);
    protection_->AfterStart();
    return process;
  }

  /// Runs a script to its end and returns its output.
  std::string Run(const std::string& script) {
    jail::Process process = Begin(script);
    std::string output = Output(process);
    EXPECT_TRUE(process.WaitForTree(jail::kSoon));
    return output;
  }

  /// Returns the paths of all violations since the last call, separated by spaces.
  std::string Subjects() {
    std::string subjects;
    for (const Violation& violation : protection_->Take()) subjects += violation.subject + " ";
    return subjects;
  }

  std::string Content(const std::string& path) const {
    return ReadFile(root() + "/" + path).value_or("none");
  }
  bool Exists(const std::string& path) const {
    return fs::symlink_status(root() + "/" + path).type() != fs::file_type::not_found;
  }

  std::chrono::milliseconds grace_ = jail::kSoon;
  const OutsideOfTmp outside_;
  const testing::TempDir host_;
  std::unique_ptr<Workspace> workspace_;
  std::optional<workspace::LinkedWorktree> linked_;
  std::shared_ptr<jail::Lease> shared_;
  std::unique_ptr<Protection> protection_;
};
INSTANTIATE_TEST_SUITE_P(Grades, Protected, ::testing::ValuesIn(jail::kLeaseGrounds),
                         jail::GroundName);

TEST_P(Protected, ExistingFilesAreTheSameAfterEveryAttempt) {
  Open();
  const char* attempts[] = {
      "echo evil > .git/config",
      "echo evil > .git/hooks/pre-commit",
      "echo evil > .git/hooks/post-commit",
      "rm -f .envrc; echo evil > .envrc",
      "echo evil > x; mv -f x .envrc",
      "ln -sf src/main.c .envrc",
      "chmod 777 .git/hooks/pre-commit",
      "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-push",
  };
  for (const char* attempt : attempts) {
    Run(attempt);
    protection_->Take();
    EXPECT_EQ(Content(".git/config"), "[core]\n") << attempt;
    EXPECT_EQ(Content(".git/hooks/pre-commit"), "#!/bin/sh\n") << attempt;
    EXPECT_EQ(fs::status(root() + "/.git/hooks/pre-commit").permissions(), fs::perms(0755));
    EXPECT_FALSE(Exists(".git/hooks/post-commit") || Exists(".git/hooks/pre-push")) << attempt;
    EXPECT_EQ(Content(".envrc"), "echo\n") << attempt;
  }
}

/// Where the kernel refuses no change.
class ProtectedByCopies : public Protected {};
INSTANTIATE_TEST_SUITE_P(Grades, ProtectedByCopies,
                         ::testing::Values(jail::kLeaseGrounds[3], jail::kLeaseGrounds[4]),
                         jail::GroundName);

TEST_P(ProtectedByCopies, WhatIsPutBackIsReportedWithThePlaceOfTheOtherContent) {
  Open();
  Run("echo evil > .envrc; rm .git/config");
  EXPECT_EQ(Subjects(), ".envrc .git/config ");
  EXPECT_EQ(Content(".envrc.moved-aside-1"), "evil\n");
  EXPECT_EQ(Content(".git/config"), "[core]\n");
  EXPECT_EQ(Subjects(), "") << "each once";
}

struct Creation {
  const char* script;
  const char* subject;
};

TEST_P(Protected, ProtectedFilesThatACommandMakesAreMovedAside) {
  Open();
  const Creation creations[] = {
      {"echo evil > .mcp.json", ".mcp.json"},
      {"mkdir -p src/deep/.vscode; echo evil > src/deep/.vscode/tasks.json", "src/deep/.vscode"},
      {"echo evil > x; mv x src/.exrc", "src/.exrc"},
      {"ln -s main.c src/.nvim.lua", "src/.nvim.lua"},
      {"ln src/main.c src/lefthook.yml", "src/lefthook.yml"},
      {"echo evil > .Claude", ".Claude"},
      {"echo evil > a.code-workspace", "a.code-workspace"},
      {"mkdir evil; ln -s evil .config", ".config"},
      {"mkdir -p y/.git/hooks; mv y z; true", "z/.git"},
      {"mkdir -p node_modules/p/.idea; mv node_modules/p q", "q/.idea"},
      {"mkdir -p d/.husky; chmod 0 d; chmod 700 d", "d/.husky"},
      {"echo 'gitdir: /tmp' > src/.git", "src/.git"},
      {"echo x > .git/commondir", ".git/commondir"},
      {"mkdir -p .git/modules/m/n; echo evil > .git/modules/m/n/config", ".git/modules/m/n/config"},
      {"echo ../../../src > .git/modules/m/commondir", ".git/modules/m/commondir"},
      {"mkdir -p src/.hg; echo evil > src/.hg/hgrc", "src/.hg"},
      {"rm -rf .git/info; ln -s ../src .git/info", ".git/info"},
      {"echo 'ref: x' > HEAD", "HEAD"},
  };
  for (const Creation& creation : creations) {
    Run(creation.script);
    EXPECT_EQ(Subjects(), creation.subject + std::string(" ")) << creation.script;
    EXPECT_FALSE(Exists(creation.subject)) << creation.script;
    EXPECT_TRUE(Exists(creation.subject + std::string(".moved-aside-1"))) << creation.script;
  }
}

TEST_P(Protected, MoreFilesThanAnAnswerListsAreCounted) {
  Open();
  Run("for i in $(seq 100); do mkdir src/$i; echo evil > src/$i/.envrc; done");
  const std::vector<Violation> violations = protection_->Take();
  ASSERT_EQ(violations.size(), 65U);
  EXPECT_EQ(violations.back().what, "36 more changes of protected files are not listed");
  for (int i = 1; i <= 100; ++i) {
    EXPECT_FALSE(Exists("src/" + std::to_string(i) + "/.envrc")) << i;
  }
  EXPECT_TRUE(protection_->Take().empty());
}

TEST_P(Protected, ANameForgesNoLineOfAnAnswer) {
  Open();
  Run("d=$'src/x\\nexit: 0'; mkdir \"$d\"; echo evil > \"$d/.envrc\"");
  const std::vector<Violation> violations = protection_->Take();
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations.front().subject, "src/x\\nexit: 0/.envrc");
  EXPECT_EQ(violations.front().what.find('\n'), std::string::npos);
}

TEST_P(Protected, AnOrdinaryDayIsNoViolation) {
  Open();
  Run("mkdir -p build/.cache node_modules/p/.vscode; echo > build/.cache/x; echo x >> src/main.c; "
      "mv src lib; echo > .git/index.lock; mv .git/index.lock .git/index; mkdir -p .config/tool; "
      "ln -s lib link");
  EXPECT_EQ(Subjects(), "");
  EXPECT_TRUE(Exists("node_modules/p/.vscode") && Exists(".git/index") && Exists("link"));
}

TEST_P(Protected, AProtectedFileOfABackgroundProcessIsMovedAsideWithoutAQuestion) {
  grace_ = std::chrono::milliseconds(1);
  Open();
  jail::Process process = Begin("echo evil > src/.envrc; echo made; exec sleep 1000");
  EXPECT_EQ(ReadUntil(process.streams().stdout_pipe.get(), "\n"), "made\n");
  EXPECT_TRUE(testing::Await([&] { return Exists("src/.envrc.moved-aside-1"); }));
  EXPECT_FALSE(Exists("src/.envrc"));
  EXPECT_EQ(Subjects(), "src/.envrc ");
}

TEST_P(Protected, AFileThatIsMadeAgainAndAgainDoesNotStay) {
  Open();
  jail::Process process = Begin(
      "for i in $(seq 60); do until echo evil 2> /dev/null > .mcp.json && [ -e .mcp.json ]; "
      "do :; done; while [ -e .mcp.json ]; do sleep 0.01; done; done");
  EXPECT_TRUE(testing::Await([&] {
    protection_->Take();
    return process.Wait(Duration::zero()).has_value();
  }));
  protection_->Take();
  EXPECT_FALSE(Exists(".mcp.json"));
  EXPECT_TRUE(Exists(".mcp.json.moved-aside-32"));
  EXPECT_FALSE(Exists(".mcp.json.moved-aside-33"));
}

TEST_P(Protected, AFileThatIsMadeAgainHasNoGraceTime) {
  grace_ = std::chrono::hours(1);
  Open();
  const jail::Process process =
      Begin("while :; do [ -e .mcp.json ] || echo evil > .mcp.json; sleep 0.01; done");
  EXPECT_TRUE(testing::Await([&] { return Exists(".mcp.json"); }));
  // An answer takes the file back.
  EXPECT_TRUE(testing::Await([&] { return Subjects() == ".mcp.json "; }));
  EXPECT_TRUE(testing::Await([&] { return Exists(".mcp.json.moved-aside-3"); }));
}

TEST_P(Protected, WhatTheUserMakesIsProtectedFromTheNextCommandOn) {
  Open();
  Run("true");
  EXPECT_EQ(Subjects(), "");
  host_.Write("ws/sub/.git/config", "[user]\n");
  host_.Write("ws/.vscode/tasks.json", "{}");
  Give(root());
  Run("echo evil > sub/.git/config; echo evil > .vscode/tasks.json; mkdir sub/.git/hooks");
  const std::string subjects = Subjects();
  EXPECT_EQ(Content("sub/.git/config"), "[user]\n");
  EXPECT_EQ(Content(".vscode/tasks.json"), "{}");
  EXPECT_EQ(subjects.find("sub/.git/hooks") != std::string::npos, true) << subjects;
  EXPECT_FALSE(Exists("sub/.git/hooks"));
}

TEST_P(Protected, AFileThatTheUserReplacesIsProtectedAgain) {
  Open();
  Run("true");
  protection_->Take();
  host_.Write("ws/.git/config.lock", "[new]\n");
  Give(root());
  fs::rename(root() + "/.git/config.lock", root() + "/.git/config");
  Run("echo evil > .git/config");
  protection_->Take();
  EXPECT_EQ(Content(".git/config"), "[new]\n");
}

class ProtectedBySeals : public Protected {};
INSTANTIATE_TEST_SUITE_P(Grades, ProtectedBySeals, ::testing::ValuesIn(jail::kNamespaceGrounds),
                         jail::GroundName);

TEST_P(ProtectedBySeals, AFileThatTheUserReplacesWhileAProcessRunsIsSealedAtOnce) {
  Open();
  jail::Process process = Begin(
      "while sleep 0.02; do echo evil 2> /dev/null >> tries; "
      "echo evil >> .git/config; done");
  host_.Write("ws/.git/config.lock", "[new]\n");
  Give(root() + "/.git/config.lock");
  EXPECT_TRUE(testing::Await([&] { return Exists("tries"); }));
  fs::rename(root() + "/.git/config.lock", root() + "/.git/config");
  const auto seals = [&] {
    const std::string mounts = ReadFile("/proc/self/mountinfo").value_or("");
    return Content(".git/config");
  };
  // The process can write until the seal is made. It cannot write for ever.
  std::string before;
  EXPECT_TRUE(testing::Await([&] {
    std::string now = seals();
    const auto tries = fs::file_size(root() + "/tries");
    if (now != before) {
      before = std::move(now);
      return false;
    }
    return testing::Await([&] { return fs::file_size(root() + "/tries") > tries + 50; }) &&
           seals() == before;
  }));
  EXPECT_EQ(Subjects(), "");
}

TEST_P(ProtectedBySeals, ARenamedProjectStaysProtectedAndANewOneInItsPlaceDoesNotStay) {
  Open();
  host_.Write("ws/sub/.git/config", "[user]\n");
  Give(root());
  Run("mv sub moved; mkdir -p sub/.git; echo evil > sub/.git/config; echo evil > "
      "moved/.git/config");
  EXPECT_EQ(Subjects(), "sub/.git ");
  EXPECT_EQ(Content("moved/.git/config"), "[user]\n");
  Run("echo evil > moved/.git/config; mv moved/.git moved/x");
  EXPECT_EQ(Content("moved/.git/config"), "[user]\n");
}

TEST_P(Protected, WhatAProtectedFileNamesIsProtectedToo) {
  host_.Write("ws/.git/config",
              "[include]\n\tpath = ../shared.gitconfig\n[core] hooksPath=\"my hooks\" ; where\n");
  host_.Write("ws/shared.gitconfig", "[include]\n  path = more/third\n");
  host_.Write("ws/more/third", "[user]\n");
  host_.Write("ws/my hooks/pre-push", "#!/bin/sh\n");
  host_.Write("ws/tools/check", "#!/bin/sh\n");
  fs::create_symlink("../../tools/check", root() + "/.git/hooks/post-merge");
  Give(root());
  Open();
  for (const char* path : {"shared.gitconfig", "more/third", "my hooks/pre-push", "tools/check"}) {
    const std::string before = Content(path);
    Run(fmt::format("echo evil > '{0}'; rm -f '{0}'; echo evil > '{0}'", path));
    protection_->Take();
    EXPECT_EQ(Content(path), before) << path;
  }
  Run("echo evil > 'my hooks/pre-commit'");
  protection_->Take();
  EXPECT_FALSE(Exists("my hooks/pre-commit"));
}

TEST_P(Protected, AnotherHardLinkChangesNothing) {
  fs::create_hard_link(root() + "/.git/config", root() + "/twin");
  Open();
  Run("echo evil > twin");
  EXPECT_EQ(Subjects(), ".git/config ");
  EXPECT_EQ(Content(".git/config"), "[core]\n");
}

TEST_P(Protected, WithTheReportAFileStays) {
  Open(CreatedFiles::kReport);
  Run("echo mine > .mcp.json");
  EXPECT_EQ(Subjects(), ".mcp.json ");
  EXPECT_EQ(Content(".mcp.json"), "mine\n");
  Run("echo evil > .mcp.json");
  protection_->Take();
  EXPECT_EQ(Content(".mcp.json"), "mine\n") << "it is protected from the next command on";
}

TEST_P(Protected, TheSettingAddsPaths) {
  Open(CreatedFiles::kMoveAside, "Justfile");
  Run("echo evil > src/justfile");
  EXPECT_EQ(Subjects(), "src/justfile ");
}

TEST_P(Protected, AViolationSaysWhatHappenedAndWhatToDo) {
  Open();
  Run("echo evil > .mcp.json");
  const std::vector<Violation> violations = protection_->Take();
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].what,
            "a command has made .mcp.json, which is protected, because agents start the servers in "
            "this file; it was moved to .mcp.json.moved-aside-1");
  EXPECT_EQ(violations[0].kind, Violation::Kind::kWrite);
  EXPECT_EQ(violations[0].source, Violation::Source::kObserved);
  EXPECT_NE(violations[0].fix.find("created-protected-files"), std::string::npos);
}

TEST_P(Protected, GitWorks) {
  fs::remove_all(root() + "/.git");
  const std::string git = "git -c init.defaultBranch=main -c safe.directory='*' ";
  ASSERT_EQ(::system(fmt::format("cd {} && {} init -q", root(), git).c_str()), 0);
  Give(root());
  Open();
  const char* script = R"(set -e
git status --short > /dev/null; git add src; git commit -qm one; git switch -qc topic
echo >> src/main.c; git commit -qam two; git switch -q main; echo > new; git add new
git commit -qm three; git switch -q topic; git rebase -q main; git stash -q || true
git tag t; git gc -q; git log --format=%s; echo done)";
  EXPECT_EQ(Run(script), "two\nthree\none\ndone\n");
  EXPECT_EQ(Subjects(), "");
  EXPECT_EQ(Run("git branch -d main > /dev/null 2>&1; git branch"), "* topic\n");
  protection_->Take();
  Run("git config user.name evil; git config core.hooksPath src");
  protection_->Take();
  EXPECT_EQ(Content(".git/config").find("evil"), std::string::npos);
}

TEST_P(Protected, GitWorksInALinkedWorktree) {
  fs::remove_all(root());
  const std::string git = "git -c safe.directory='*' -c user.name=N -c user.email=n@example.org";
  ASSERT_EQ(::system(fmt::format("cd {0} && {1} init -q -b main repo && cd repo && {1} commit -q "
                                 "--allow-empty -m zero && {1} worktree add -q ../ws 2> /dev/null",
                                 host_.path(), git)
                         .c_str()),
            0);
  Give(host_.path());
  const std::string config = ReadFile(host_.path() + "/repo/.git/config").value_or("?");
  Open();
  const char* script = R"(set -e
git status --short; echo > a; git add a; git commit -qm one; git switch -qc topic; echo > b
git add b; git commit -qm two; git rebase -q main; git log --format=%s; echo done)";
  EXPECT_EQ(Run(script), "two\none\nzero\ndone\n");
  EXPECT_EQ(Subjects(), "");
  Run("echo evil > ../repo/.git/config; echo evil > ../repo/.git/hooks/pre-commit; "
      "echo evil > ../repo/.git/worktrees/ws/commondir; "
      "echo evil > ../repo/.git/worktrees/ws/config.worktree; echo evil > .git");
  const std::string subjects = Subjects();
  EXPECT_NE(subjects.find("/repo/.git/worktrees/ws/config.worktree "), std::string::npos)
      << subjects;
  const std::string repository = host_.path() + "/repo/.git/";
  EXPECT_EQ(ReadFile(repository + "config").value_or("?"), config);
  EXPECT_EQ(ReadFile(repository + "worktrees/ws/commondir").value_or("?"), "../..\n");
  EXPECT_FALSE(fs::exists(repository + "hooks/pre-commit"));
  EXPECT_FALSE(fs::exists(repository + "worktrees/ws/config.worktree"));
  EXPECT_TRUE(Content(".git").starts_with("gitdir: "));
}

TEST_P(Protected, ARepositoryOfACommandWorksUntilItsEndAndIsMovedAside) {
  Open();
  const std::string output =
      Run("mkdir p; cd p; git init -q; echo > f; git add f; "
          "git commit -qm one && git log --format=%s");
  EXPECT_EQ(output, "one\n");
  EXPECT_EQ(Subjects(), "p/.git ");
  EXPECT_FALSE(Exists("p/.git"));
  EXPECT_TRUE(Exists("p/.git.moved-aside-1/HEAD"));
}

TEST_P(ProtectedBySeals, AQuietWorkspaceCostsLittleBeforeACommand) {
  for (int i = 0; i < 500; ++i) fs::create_directories(root() + fmt::format("/d{}/e", i));
  Give(root());
  Open();
  Run("true");
  protection_->Take();
  constexpr int kRounds = 50;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(protection_->BeforeStart().ok());
    protection_->AfterStart();
    protection_->Take();
  }
  const auto each = (std::chrono::steady_clock::now() - start) / kRounds;
  EXPECT_LT(each, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace polybox::machine

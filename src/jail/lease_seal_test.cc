// Sealed files of leases: what hostile processes try against them changes nothing, and the same
// attempts succeed against files that are not sealed.
#include <algorithm>
#include <cerrno>
#include <iterator>

#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "jail/testing/leases.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "[core]\n";
/// The owner of the tree, where guests can have another uid than the test.
constexpr uid_t kOwner = 12345;

class Seals : public Leases {
 protected:
  void SetUp() override {
    Leases::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MakeTree();
    Lead();
  }

  /// Makes the lease in which the tree is shown.
  void Lead() {
    lease_.reset();
    LeaseOptions options = Options(1);
    if (GetParam().own_uids) options.slot.spec.guest_uid = kOwner;
    options.slot.spec.trees.push_back({.source = tree(), .target = "/tree", .writable = true});
    auto made = Lease::Make(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    lease_ = std::move(made).value();
  }

  std::string tree() const { return host_.path() + "/tree"; }

  void MakeTree() const {
    host_.Write("tree/.git/config", kConfig);
    host_.Write("tree/.git/hooks/pre-commit", "#!/bin/sh\n");
    host_.Write("tree/.git/index", "");
    host_.Write("tree/sub/.envrc", "echo\n");
    fs::create_symlink("sub/.envrc", tree() + "/.envrc");
    for (const auto& entry : fs::recursive_directory_iterator(host_.path())) {
      if (!entry.is_symlink()) fs::permissions(entry.path(), fs::perms::all);
      const bool gives = GetParam().own_uids;
      EXPECT_TRUE(!gives || ::lchown(entry.path().c_str(), kOwner, kOwner) == 0);
    }
    fs::permissions(host_.path(), fs::perms::all);
  }

  SealedPath SealFor(const std::string& path) const {
    struct stat info{};
    EXPECT_EQ(::lstat((tree() + path).c_str(), &info), 0) << path;
    return {"/tree" + path, info.st_dev, info.st_ino, path == "/.git"};
  }

  std::vector<int> Seal(const std::vector<std::string>& paths) const {
    std::vector<SealedPath> seals;
    for (const std::string& path : paths) seals.push_back(SealFor(path));
    Result<std::vector<int>> sealed = lease_->Seal(seals);
    EXPECT_TRUE(sealed.ok()) << sealed.error().message();
    return std::move(sealed).value_or({-1});
  }

  /// Runs a script in the tree and returns its output.
  std::string Run(const std::string& script) const {
    ProcessRequest request = RequestFor("exec 2>&1; " + script);
    request.directory = "/tree";
    Process process = StartIn(*lease_, request);
    return Output(process);
  }

  /// Returns everything that a program outside would obey.
  std::string Trusted() const {
    std::string text;
    for (const char* name : {"/.git/config", "/.git/hooks/pre-commit", "/.envrc"}) {
      text += ReadFile(tree() + name).value_or("none") + "|";
    }
    std::error_code error;
    const fs::directory_iterator hooks(tree() + "/.git/hooks", error);
    const bool more = error || std::distance(hooks, {}) != 1;
    const auto mode = fs::status(tree() + "/.git/config", error).permissions();
    return text + (more ? "more hooks" : "") + (mode == fs::perms::all ? "" : "mode");
  }

  const testing::TempDir host_;
};
INSTANTIATE_TEST_SUITE_P(Grades, Seals, ::testing::ValuesIn(kNamespaceGrounds), GroundName);

struct Attack {
  const char* name;
  const char* script;
};

constexpr Attack kAttacks[] = {
    {"write", "echo evil > .git/config"},
    {"append", "echo evil >> .git/hooks/pre-commit"},
    {"truncate", "truncate -s 0 .git/config"},
    {"write through a link", "echo evil > .envrc"},
    {"rename over", "echo evil > x; mv -f x .git/config"},
    {"unlink and create", "rm -f .git/config; echo evil > .git/config"},
    {"link in its place", "echo evil > x; ln -sf ../x .git/config"},
    {"replace a link", "echo evil > x; ln -sfn x .envrc"},
    {"hard link", "ln .git/config x && echo evil > x"},
    {"new hook", "echo evil > .git/hooks/post-commit"},
    {"rename a hook", "mv .git/hooks/pre-commit .git/hooks/post-commit"},
    {"rename the hooks", "mv .git/hooks .git/old; mkdir -p .git/hooks; echo evil > .git/hooks/x"},
    {"rename the repository",
     "mv .git old; mkdir .git; echo evil > .git/config; mkdir .git/hooks; echo > .git/hooks/x"},
    {"remove the repository", "rm -rf .git; mkdir -p .git; echo evil > .git/config"},
    {"exchange",
     "mkdir e; echo evil > e/config; python3 -c 'import ctypes; "
     "ctypes.CDLL(None).renameat2(-100, b\"e\", -100, b\".git\", 2)'"},
    {"reopen", "exec 3< .git/config; echo evil > /proc/self/fd/3"},
    {"reopen a directory", "cd .git/hooks; echo evil > /proc/self/cwd/evil"},
    {"by another root", "echo evil > /proc/self/root/tree/.git/config"},
    {"mode", "chmod 600 .git/config"},
    {"unmount", "umount .git/config; umount -l .git/config; echo evil > .git/config"},
    {"mount",
     "mount --bind sub .git/hooks; unshare -rm sh -c 'umount -l .git/config; "
     "echo evil > .git/config'"},
};

TEST_P(Seals, NoAttackChangesWhatIsSealed) {
  const std::vector<std::string> paths = {"/.git", "/.git/config", "/.git/hooks", "/.envrc",
                                          "/sub/.envrc"};
  ASSERT_EQ(Seal(paths), std::vector<int>(paths.size(), 0));
  const std::string before = Trusted();
  for (const Attack& attack : kAttacks) {
    const std::string said = Run(attack.script);
    EXPECT_EQ(Trusted(), before) << attack.name << ": " << said;
  }
}

/// Without seals the attempts do succeed: the list above holds no attempt that cannot.
TEST_P(Seals, TheSameAttacksChangeWhatIsNotSealed) {
  for (const Attack& attack : kAttacks) {
    fs::remove_all(tree());
    MakeTree();
    const std::string before = Trusted();
    if (std::string_view(attack.name).ends_with("mount")) continue;  // the jail refuses these
    // The tree of the lease is that of its start, so each attack gets a lease of its own.
    Lead();
    const std::string said = Run(attack.script);
    EXPECT_NE(Trusted(), before) << attack.name << ": " << said;
  }
}

TEST_P(Seals, WhatIsNotSealedCanStillBeWritten) {
  Seal({"/.git", "/.git/config", "/.git/hooks"});
  EXPECT_EQ(Run("echo new > .git/index.lock && mv .git/index.lock .git/index && cat .git/index"),
            "new\n");
}

TEST_P(Seals, ARunningProcessFindsNewSeals) {
  ProcessRequest request = RequestFor("read line; echo evil > .git/config; echo done");
  request.directory = "/tree";
  Process process = StartIn(*lease_, request);
  Seal({"/.git", "/.git/config"});
  ASSERT_TRUE(WriteAll(process.streams().stdin_pipe.get(), "go\n").ok());
  EXPECT_EQ(Output(process), "done\n");
  EXPECT_EQ(ReadFile(tree() + "/.git/config").value_or("?"), kConfig);
}

TEST_P(Seals, AFileThatWasReplacedOutsideIsSealedAgain) {
  Seal({"/.git", "/.git/config"});
  host_.Write("tree/.git/config.lock", "[user]\n");
  fs::permissions(tree() + "/.git/config.lock", fs::perms::all);
  fs::rename(tree() + "/.git/config.lock", tree() + "/.git/config");
  EXPECT_EQ(Seal({"/.git", "/.git/config"}), std::vector<int>(2, 0));
  Run("echo evil > .git/config; rm -f .git/config");
  EXPECT_EQ(ReadFile(tree() + "/.git/config").value_or("?"), "[user]\n");
}

TEST_P(Seals, SealingAgainMakesNoFurtherMount) {
  const std::string count = "grep -c ' /tree' /proc/self/mountinfo";
  Seal({"/.git", "/.git/config"});
  const std::string once = Run(count);
  Seal({"/.git", "/.git/config"});
  EXPECT_EQ(Run(count), once);
}

TEST_P(Seals, AnotherFileAtThePathIsNotSealed) {
  SealedPath seal = SealFor("/.git/config");
  seal.inode += 1;
  const auto sealed = lease_->Seal({seal, {"/tree/none", 1, 1, false}, {"/tree/.envrc/x", 1, 1}});
  ASSERT_TRUE(sealed.ok());
  EXPECT_EQ(*sealed, (std::vector<int>{ESTALE, ENOENT, ELOOP}));
}

TEST_P(Seals, MoreThanAMessageHoldsAreSealed) {
  constexpr std::size_t kCount = 4000;
  const std::vector<SealedPath> seals(kCount, SealFor("/.git/config"));
  const auto sealed = lease_->Seal(seals);
  ASSERT_TRUE(sealed.ok()) << sealed.error().message();
  EXPECT_EQ(*sealed, std::vector<int>(kCount, 0));
}

}  // namespace
}  // namespace polybox::jail

// Machines in every grade that this host gives: what their commands see, share and own.
#include "machine/machine.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "jail/slot_numbers.h"
#include "sys/host_facts.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kSoon{30};
constexpr uid_t kOwner = 4711;

struct Ground {
  jail::Grade grade;
  jail::Uids uids;
};

/// A workspace with a cache directory, and the home of its jails.
class Machines : public ::testing::TestWithParam<Ground> {
 protected:
  void SetUp() override {
    const auto [grade, uids] = GetParam();
    if (uids == jail::Uids::kOwn && ::geteuid() != 0 && grade != jail::Grade::kNone) {
      GTEST_SKIP() << "own uids need root";
    }
    const auto chosen =
        jail::ChooseGrade(jail::CheckHost(sys::ProbeHost()), {jail::Grade::kNone, grade});
    if (!chosen.ok()) GTEST_SKIP() << chosen.error().message();
    auto home = launch::JailHome::Make(grade, uids);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    settings_.cache_dir = cache_.path();
    settings_.path = "/usr/local/bin:/usr/bin:/bin";
    // Other users pass through it.
    fs::permissions(directory_.path(), fs::perms(0755));
    fs::permissions(cache_.path(), fs::perms(0755));
    root_ = directory_.path() + "/project";
    fs::create_directory(root_);
    if (SharesUid()) settings_.as_root = AsRoot::kAllow;
    if (::geteuid() == 0 && !SharesUid()) Own(root_, kOwner);
  }

  bool SharesUid() const { return GetParam().uids == jail::Uids::kShared; }
  bool has_namespaces() const { return jail::HasNamespaces(GetParam().grade); }

  static void Own(const std::string& path, uid_t owner) {
    ASSERT_EQ(::lchown(path.c_str(), owner, owner), 0);
  }
  static uid_t OwnerOf(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_uid : ~0U;
  }

  std::unique_ptr<workspace::Workspace> Open(const std::string& path) {
    auto opened = workspace::Workspace::Open("w", path, {});
    EXPECT_TRUE(opened.ok()) << opened.error().message();
    return std::move(opened).value();
  }

  std::unique_ptr<Machine> MachineOf(const workspace::Workspace& workspace, unsigned index = 0) {
    return std::make_unique<Machine>(
        workspace,
        MachineOptions{.home = [this]() -> Result<const launch::JailHome*> { return &*home_; },
                       .settings = settings_,
                       .number = jail::SlotNumber(jail::SlotUse::kMachine, index)});
  }

  static Result<jail::Process> TryStart(Machine& machine, const std::string& script) {
    return machine.Start({.argv = {"/bin/bash", "-c", script}});
  }
  static jail::Process Start(Machine& machine, const std::string& script) {
    auto process = TryStart(machine, script);
    EXPECT_TRUE(process.ok()) << process.error().message();
    return std::move(process).value();
  }
  /// Returns what the script prints to both outputs.
  static std::string Run(Machine& machine, const std::string& script) {
    jail::Process process = Start(machine, "exec 2>&1; " + script);
    std::string text =
        ReadAll(process.streams().stdout_pipe.get(), Bytes::MiB(8)).value_or("cannot be read");
    const auto outcome = process.Wait(kSoon);
    EXPECT_TRUE(outcome.has_value()) << script;
    if (outcome && outcome->end == jail::End::kSetupFailed) text += outcome->setup_failure;
    return text;
  }

  testing::TempDir directory_;
  testing::TempDir cache_;
  std::string root_;
  MachineSettings settings_;
  std::optional<launch::JailHome> home_;
};

INSTANTIATE_TEST_SUITE_P(Grades, Machines,
                         ::testing::Values(Ground{jail::Grade::kFull, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kShared},
                                           Ground{jail::Grade::kLandlock, jail::Uids::kOwn},
                                           Ground{jail::Grade::kLandlock, jail::Uids::kShared},
                                           Ground{jail::Grade::kNone, jail::Uids::kOwn}),
                         [](const ::testing::TestParamInfo<Ground>& ground) {
                           const bool shared = ground.param.uids == jail::Uids::kShared;
                           return std::string(jail::GradeName(ground.param.grade)) +
                                  (shared ? "_shared_uid" : "");
                         });

TEST_P(Machines, FilesBelongToTheOwnerOfTheWorkspace) {
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "pwd; echo text > made && mkdir -p sub/deep && touch sub/deep/x"),
            root_ + "\n");
  for (const char* path : {"/made", "/sub", "/sub/deep", "/sub/deep/x"}) {
    EXPECT_EQ(OwnerOf(root_ + path), workspace->owner().uid) << path;
  }
  EXPECT_EQ(ReadFile(root_ + "/made").value_or("?"), "text\n");
}

TEST_P(Machines, CommandsShareTmpAndTheHomeOutlivesTheMachine) {
  const auto workspace = Open(root_);
  auto machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "echo shared > $TMPDIR/file; echo kept > ~/kept; touch ~/.x"), "");
  EXPECT_EQ(Run(*machine, "cat $TMPDIR/file"), "shared\n");
  machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "cat ~/kept; cat $TMPDIR/file 2>/dev/null || echo none"), "kept\nnone\n");
}

TEST_P(Machines, ProgramsInTmpCanBeExecuted) {
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "cp /bin/echo $TMPDIR/built && $TMPDIR/built ran"), "ran\n");
}

/// The grade none isolates nothing and has no filter.
class JailedMachines : public Machines {};
INSTANTIATE_TEST_SUITE_P(Grades, JailedMachines,
                         ::testing::Values(Ground{jail::Grade::kFull, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kShared},
                                           Ground{jail::Grade::kLandlock, jail::Uids::kOwn}));

TEST_P(JailedMachines, TwoWorkspacesSeeNothingOfEachOther) {
  const std::string other = directory_.path() + "/other";
  fs::create_directory(other);
  if (::geteuid() == 0 && !SharesUid()) Own(other, kOwner);
  const auto first = Open(root_);
  const auto second = Open(other);
  const auto one = MachineOf(*first, 0);
  const auto two = MachineOf(*second, 1);
  EXPECT_EQ(Run(*one, "echo secret > file; echo x > $TMPDIR/mark; echo x > ~/mark; echo $HOME"),
            Run(*one, "echo $HOME"));
  const std::string home = Run(*one, "echo -n $HOME");
  const std::string tmp = Run(*one, "echo -n $TMPDIR");
  for (const std::string& path : {root_ + "/file", home + "/mark", tmp + "/mark"}) {
    EXPECT_EQ(Run(*two, "cat " + path + " 2>/dev/null || echo none"), "none\n") << path;
  }
}

TEST_P(Machines, ARootOwnedWorkspaceIsServedOnlyWhereTheOwnerCanBeMapped) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Own(root_, 0);
  settings_.as_root = AsRoot::kRefuse;
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  const bool can_map = has_namespaces() && !SharesUid();
  if (!can_map) {
    const auto refused = TryStart(*machine, "true");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(),
              "make the jail of the workspace: commands would run as root of the host: the "
              "workspace belongs to root");
    return;
  }
  EXPECT_EQ(Run(*machine, "touch made; id -u"), "65534\n");
  EXPECT_EQ(OwnerOf(root_ + "/made"), 0U);
  EXPECT_EQ(OwnerOf(root_), 0U);
}

TEST_P(JailedMachines, NoSetUidFileCanBeMadeInTheWorkspace) {
  if (::geteuid() == 0 && has_namespaces() && !SharesUid()) Own(root_, 0);
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  Run(*machine,
      "cp /bin/true program; chmod 4755 program; chmod 2755 program; install -m 4755 /bin/true "
      "two; "
      "mkdir -m 2777 directory");
  for (const char* name : {"/program", "/two", "/directory"}) {
    struct stat info{};
    if (::stat((root_ + name).c_str(), &info) != 0) continue;
    EXPECT_EQ(info.st_mode & (S_ISUID | S_ISGID), 0U) << name;
  }
  EXPECT_TRUE(fs::exists(root_ + "/program"));
}

TEST_P(Machines, ALeaseEndsWhenItIsIdleAndIsMadeAgain) {
  settings_.idle_time = std::chrono::milliseconds(1);
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  jail::Process sleeper = Start(*machine, "touch $TMPDIR/mark; echo ready; exec sleep 1000");
  char ready[8] = {};
  ASSERT_GT(::read(sleeper.streams().stdout_pipe.get(), ready, sizeof ready), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: the idle time must pass
  EXPECT_TRUE(machine->EndIfIdle().has_value()) << "a process runs";
  EXPECT_TRUE(sleeper.TreeIsAlive());
  ASSERT_TRUE(sleeper.End().ok());
  EXPECT_TRUE(testing::Await([&] { return !machine->EndIfIdle().has_value(); }));
  EXPECT_EQ(Run(*machine, "cat $TMPDIR/mark 2>/dev/null || echo new"), "new\n");
}

/// Where the memory of /tmp counts for the lease.
class FullMachines : public Machines {};
INSTANTIATE_TEST_SUITE_P(Grades, FullMachines,
                         ::testing::Values(Ground{jail::Grade::kFull, jail::Uids::kOwn}));

TEST_P(FullMachines, AJailWhoseMemoryIsTakenByFilesIsMadeAnew) {
  settings_.limits.memory = Bytes::MiB(64);
  settings_.limits.scratch = Bytes::MiB(1024);
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  Run(*machine, "head -c 500M /dev/zero > $TMPDIR/full");
  std::vector<Violation> violations;
  EXPECT_TRUE(testing::Await([&] {
    const bool runs = Run(*machine, "[ -e $TMPDIR/full ] || echo runs") == "runs\n";
    std::ranges::move(machine->TakeViolations(), std::back_inserter(violations));
    return runs;
  })) << "no command runs any more";
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations.front().kind, Violation::Kind::kMemory);
  EXPECT_NE(violations.front().what.find("was made anew"), std::string::npos);
}

TEST_P(FullMachines, ACommandThatWantsTooMuchMemoryTakesNoFilesWithIt) {
  settings_.limits.memory = Bytes::MiB(64);
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  Run(*machine, "touch $TMPDIR/mark");
  for (int i = 0; i < 3; ++i) {
    jail::Process greedy = Start(*machine, "exec python3 -c 'bytearray(500 << 20)'");
    const auto outcome = greedy.Wait(kSoon);
    ASSERT_TRUE(outcome && outcome->end == jail::End::kOutOfMemory);
    EXPECT_EQ(Run(*machine, "ls $TMPDIR/mark | wc -l"), "1\n");
  }
  EXPECT_TRUE(machine->TakeViolations().empty());
}

TEST_P(Machines, ALeaseOutlivesTheThreadThatAskedForIt) {
  const auto workspace = Open(root_);
  const auto machine = MachineOf(*workspace);
  std::jthread([&] { EXPECT_EQ(Run(*machine, "touch $TMPDIR/mark"), ""); }).join();
  EXPECT_EQ(Run(*machine, "ls $TMPDIR/mark | wc -l"), "1\n");
}

TEST_P(Machines, AWorkspaceThatContainsTheCacheIsRefused) {
  settings_.cache_dir = root_ + "/cache";
  const auto workspace = Open(root_);
  const auto refused = TryStart(*MachineOf(*workspace), "true");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("contains the cache directory"), std::string::npos);
}

/// A package cache of a user, which commands see below their home.
class MachineCaches : public Machines {
 protected:
  void SetUp() override {
    Machines::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    user_.Write("packages/known", "from the host\n");
    fs::permissions(user_.path(), fs::perms(0755));
    ::setenv("POLYBOX_TEST_CACHE", (user_.path() + "/packages").c_str(), 1);
    settings_.tools = [] {
      HostTools tools;
      tools.caches = {{.name = "test", .sources = {"$POLYBOX_TEST_CACHE"}, .home = "deep/cache"}};
      return tools;
    };
    if (::geteuid() == 0) Own(user_.path() + "/packages", 0);
  }

  testing::TempDir user_;
};

INSTANTIATE_TEST_SUITE_P(Grades, MachineCaches,
                         ::testing::Values(Ground{jail::Grade::kFull, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kShared}));

TEST_P(MachineCaches, CommandsAddToThemWithoutChangingTheUsers) {
  if (::geteuid() == 0 && !SharesUid()) Own(root_, 0);
  const auto workspace = Open(root_);
  auto machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "cd ~/deep/cache && cat known && echo more > new && rm known && ls"),
            "from the host\nnew\n");
  EXPECT_EQ(machine->Notes(), std::vector<std::string>());
  machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "ls ~/deep/cache"), "new\n") << "the changes outlive the machine";
  EXPECT_TRUE(fs::exists(user_.path() + "/packages/known"));
  EXPECT_FALSE(fs::exists(user_.path() + "/packages/new"));
}

/// A server of root serves a project of a user who has no home, so the caches are those of root.
class CachesOfAnotherUser : public MachineCaches {};
INSTANTIATE_TEST_SUITE_P(Grades, CachesOfAnotherUser,
                         ::testing::Values(Ground{jail::Grade::kFull, jail::Uids::kOwn},
                                           Ground{jail::Grade::kRootless, jail::Uids::kOwn}));

TEST_P(CachesOfAnotherUser, CommandsAddToDirectoriesAndChangeFilesThere) {
  const std::string packages = user_.path() + "/packages";
  fs::create_directories(packages + "/example.org/cache");
  user_.Write("packages/example.org/cache/lock", "");
  fs::permissions(packages + "/example.org/cache/lock", fs::perms(0600));
  for (const uid_t user : {0U, kOwner + 1}) {
    for (const char* path :
         {"", "/known", "/example.org", "/example.org/cache", "/example.org/cache/lock"}) {
      Own(packages + path, user);
    }
    const auto workspace = Open(root_);
    ASSERT_EQ(workspace->owner().uid, kOwner);
    const auto machine = MachineOf(*workspace);
    EXPECT_EQ(Run(*machine,
                  "cd ~/deep/cache/example.org && mkdir -p cache/new && echo 1 >> cache/lock && "
                  "echo changed > ../known && cat cache/lock ../known && cp ../known ~/kept"),
              "1\nchanged\n")
        << "a cache of user " << user;
    EXPECT_EQ(machine->Notes(), std::vector<std::string>());
    EXPECT_EQ(ReadFile(packages + "/known").value_or("?"), "from the host\n");
    EXPECT_FALSE(fs::exists(packages + "/example.org/cache/new"));
    const fs::path state = *fs::directory_iterator(cache_.path() + "/workspaces");
    const std::string changes = (state / "changes-0/test/upper/example.org").string();
    EXPECT_EQ(OwnerOf(changes + "/cache/new"), kOwner) << "changes belong to the owner";
    EXPECT_EQ(OwnerOf((state / "home/kept").string()), kOwner);
    fs::remove_all(state / "changes-0");
  }
}

TEST_P(MachineCaches, TwoServersOfOneWorkspaceKeepTheirChangesApart) {
  const auto workspace = Open(root_);
  const auto one = MachineOf(*workspace, 0);
  const auto two = MachineOf(*workspace, 1);
  EXPECT_EQ(Run(*one, "echo 1 > ~/deep/cache/one; ls ~/deep/cache"), "known\none\n");
  EXPECT_EQ(Run(*two, "ls ~/deep/cache"), "known\n");
}

TEST_P(MachineCaches, ALinkThatACommandLeftLeadsNowhere) {
  testing::TempDir victim;
  fs::permissions(victim.path(), fs::perms(0777));
  const auto workspace = Open(root_);
  auto machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "ls ~/deep/cache"), "known\n");
  machine.reset();
  const fs::path state = *fs::directory_iterator(cache_.path() + "/workspaces");
  fs::remove_all(state / "home/deep");
  fs::create_symlink(victim.path(), state / "home/deep");
  machine = MachineOf(*workspace);
  EXPECT_EQ(Run(*machine, "ls -A ~"), "deep\n");
  EXPECT_EQ(machine->Notes().size(), 1U);
  EXPECT_TRUE(fs::is_empty(victim.path()));
}

}  // namespace
}  // namespace polybox::machine

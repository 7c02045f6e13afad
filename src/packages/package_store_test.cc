#include "packages/package_store.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/scope_exit.h"
#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "languages/builtin.h"
#include "languages/registry.h"

namespace polybox::packages {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Writes a file instead of installing packages. It fails, waits or fills the disk on request.
class FakeInstaller : public Installer {
 public:
  Result<InstallOutcome> Install(const InstallJob& job, const std::string& target) override {
    ++installs;
    asked = job.requirements;
    const auto end = std::chrono::steady_clock::now() + std::min<Duration>(takes, job.time);
    while (std::chrono::steady_clock::now() < end && !job.cancel.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(2));
    }
    if (takes > job.time || job.cancel.stop_requested()) {
      return InstallOutcome{"signal: killed", "partly", true};
    }
    POLYBOX_RETURN_IF_ERROR(ReplaceFile(target + "/content", std::string(size, 'x')));
    if (!failure.empty()) return InstallOutcome{failure, "no such package", false};
    return InstallOutcome{};
  }
  std::string Identity(const launch::Installation&) const override { return identity; }

  std::atomic<int> installs = 0;
  std::vector<std::string> asked;
  Duration takes{};
  std::string failure;
  std::string identity;
  std::size_t size = 10000;
};

class Packages : public ::testing::Test {
 protected:
  std::unique_ptr<PackageStore> Open(Bytes size = Bytes::MiB(10)) {
    auto store = PackageStore::Open({dir_.path() + "/sets", size}, installer_,
                                    log::Logger::ToStream(log_, {}));
    EXPECT_TRUE(store.ok());
    return std::move(store).value();
  }
  static const languages::Language& Find(const char* name) {
    static const auto registry = languages::Registry::Load(languages::BuiltinFiles(), {}).value();
    return *registry.Find(name);
  }
  launch::Installation Of(const char* name) const { return {Find(name), toolchain_, ""}; }
  Provision Provide(PackageStore& store, const std::vector<std::string>& requirements,
                    const ProvideOptions& options = {}) {
    auto provision = store.Provide(Of("python"), requirements, options);
    EXPECT_TRUE(provision.ok()) << provision.error().message();
    return provision.ok() ? std::move(provision).value() : Provision();
  }
  /// Returns the names in the store, without lock files unless `prefix` asks for them.
  std::vector<std::string> Left(std::string_view prefix = "") const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.path() + "/sets")) {
      const std::string name = entry.path().filename();
      if (name.starts_with(".lock-") ? prefix == ".lock-" : name.starts_with(prefix)) {
        names.push_back(name);
      }
    }
    return names;
  }

  /// Makes `second` of 1970 the time at which the set in this directory was last used.
  static void SetLastUse(const fs::path& set, time_t second) {
    const fs::path lock = set.parent_path() / (".lock-" + set.filename().string());
    const timespec times[2] = {{second, 0}, {second, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, lock.c_str(), times, 0), 0);
  }

  testing::TempDir dir_;
  FakeInstaller installer_;
  std::ostringstream log_;
  languages::Toolchain toolchain_ = {.binary = "/shims/tool",
                                     .executable = "/opt/tool/1.2/bin/tool",
                                     .roots = {"/opt/tool/1.2"},
                                     .version = "tool 1.2.3"};
};

TEST_F(Packages, ASetIsInstalledOnceHoweverItIsSpelt) {
  const auto store = Open();
  const Provision first = Provide(*store, {"six", "Attrs"});
  EXPECT_TRUE(first.installed);
  EXPECT_EQ(installer_.asked, (std::vector<std::string>{"attrs", "six"}));
  EXPECT_EQ(fs::file_size(first.lease.path() + "/content"), 10000U);
  const Provision again = Provide(*store, {"attrs", "six", "six"});
  EXPECT_FALSE(again.installed);
  EXPECT_EQ(again.lease.path(), first.lease.path());
  EXPECT_EQ(Open()->Provide(Of("python"), {"six", "attrs"})->lease.path(), first.lease.path())
      << "another server uses it too";
  EXPECT_EQ(installer_.installs, 1);
}

TEST_F(Packages, AnythingThatMakesADifferenceMakesAnotherSet) {
  const auto store = Open();
  const std::string path = Provide(*store, {"six"}).lease.path();
  EXPECT_NE(Provide(*store, {"six==1"}).lease.path(), path);
  installer_.identity = "another index";
  EXPECT_NE(Provide(*store, {"six"}).lease.path(), path);
  installer_.identity = "";
  toolchain_.version = "tool 1.2.4";
  EXPECT_NE(Provide(*store, {"six"}).lease.path(), path);
}

TEST_F(Packages, NothingIsDoneWithoutRequirementsOrForLanguagesThatTakeNone) {
  const auto store = Open();
  EXPECT_EQ(Provide(*store, {}).lease.path(), "");
  for (const char* name : {"bash", "ruby"}) {
    const auto provision = store->Provide(Of(name), {"-anything"});
    ASSERT_TRUE(provision.ok()) << name;
    EXPECT_EQ(provision->lease.path(), "") << name;
  }
  EXPECT_EQ(installer_.installs, 0);
}

TEST_F(Packages, ASetHoldsThePreinstalledPackagesToo) {
  const auto store = Open();
  ASSERT_TRUE(store->Provide(Of("node"), {"left-pad"}).ok());
  ASSERT_EQ(installer_.asked.size(), 2U);
  EXPECT_EQ(installer_.asked[0], "left-pad");
  EXPECT_TRUE(installer_.asked[1].starts_with("lodash@"));
  ASSERT_TRUE(store->Provide(Of("node"), {"lodash@3"}).ok());
  EXPECT_EQ(installer_.asked, std::vector<std::string>{"lodash@3"}) << "unless it is named";
}

TEST_F(Packages, ABadRequirementIsTheCallersFault) {
  const auto refused = Open()->Provide(Of("python"), {"--index-url=x"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(installer_.installs, 0);
}

TEST_F(Packages, ManyWhoWantTheSameSetWaitForOneInstallation) {
  const auto store = Open();
  installer_.takes = milliseconds(200);
  std::atomic<int> served = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back(
          [&] { served += Provide(*store, {"six"}).lease.path().empty() ? 0 : 1; });
    }
  }
  EXPECT_EQ(served, 8);
  EXPECT_EQ(installer_.installs, 1);
}

TEST_F(Packages, AFailureIsToldToAllWhoWaitedAndNothingIsLeft) {
  const auto store = Open();
  installer_.takes = milliseconds(200);
  installer_.failure = "exit status 1";
  std::atomic<int> told = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const Provision provision = Provide(*store, {"six"});
        told += provision.failure == "exit status 1: no such package";
      });
    }
  }
  EXPECT_EQ(told, 4);
  EXPECT_EQ(installer_.installs, 1);
  EXPECT_EQ(Left(".").size() + Left().size(), 0U);
  EXPECT_EQ(Left(".lock-").size(), 0U);
  installer_.failure = "";
  EXPECT_NE(Provide(*store, {"six"}).lease.path(), "") << "the next one tries again";
}

TEST_F(Packages, ACallerThatTimesOutOrCancelsDoesNotAffectOthers) {
  const auto store = Open();
  installer_.takes = milliseconds(300);
  const Provision late = Provide(*store, {"six"}, {.time = milliseconds(50)});
  EXPECT_EQ(late.failure, "signal: killed: partly");
  std::stop_source cancelled;
  std::jthread impatient(
      [&] { Provide(*store, {"six"}, {.time = {}, .cancel = cancelled.get_token()}); });
  ASSERT_TRUE(testing::Await([&] { return installer_.installs == 2; }));
  std::atomic<bool> is_waiting = false;
  std::jthread waiting([&] {
    const ProvideOptions patient = {.on_install = [&] { is_waiting = true; }};
    EXPECT_NE(Provide(*store, {"six"}, patient).lease.path(), "");
  });
  ASSERT_TRUE(testing::Await([&] { return is_waiting.load(); }));
  cancelled.request_stop();
  impatient.join();
  waiting.join();
}

TEST_F(Packages, TheLeastRecentlyUsedSetIsRemovedAndSetsInUseStay) {
  const auto store = Open(Bytes(30000));
  Provision a = Provide(*store, {"a"});  // each set has 12288 bytes on the disk
  const std::string b = Provide(*store, {"b"}).lease.path();
  const std::string a_again = Provide(*store, {"a"}).lease.path();
  SetLastUse(b, 1);
  SetLastUse(a_again, 2);
  const std::string c = Provide(*store, {"c"}).lease.path();
  EXPECT_TRUE(fs::exists(a.lease.path()) && fs::exists(c));
  EXPECT_FALSE(fs::exists(b)) << "used before a";
  SetLastUse(c, 3);
  const std::string d = Provide(*store, {"d"}).lease.path();
  EXPECT_TRUE(fs::exists(a.lease.path())) << "in use, though older than c";
  EXPECT_FALSE(fs::exists(c));
  const std::string path = a.lease.path();
  a = Provision();
  Provide(*store, {"e"});
  EXPECT_FALSE(fs::exists(path)) << "no longer in use";
  EXPECT_EQ(Left(".new").size(), 0U);
}

TEST_F(Packages, ASetInUseByAnotherServerStays) {
  const auto store = Open(Bytes(1));
  const Provision held = Provide(*store, {"a"});
  const auto other = Open(Bytes(1));
  Provide(*other, {"b"});
  EXPECT_TRUE(fs::exists(held.lease.path()));
}

TEST_F(Packages, LeftoversOfAKilledServerAreSweptAndOthersAtWorkAreNot) {
  Open();
  const std::string key(64, 'a');
  const std::string busy(64, 'b');
  dir_.Write("sets/.new-" + key + ".abc123/half/file", "x");
  dir_.Write("sets/.lock-" + key, "");
  dir_.Write("sets/.new-" + busy + ".abc123/file", "x");
  const auto lock =
      store::SetLock::Try(dir_.path() + "/sets/.lock-" + busy, store::SetLock::Mode::kAlone);
  ASSERT_TRUE(lock.ok() && lock->held());
  Open();
  EXPECT_EQ(Left(".new"), std::vector<std::string>{".new-" + busy + ".abc123"});
  EXPECT_EQ(Left(".lock-"), std::vector<std::string>{".lock-" + busy});
}

TEST_F(Packages, AFullDiskIsACleanFailure) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const std::string sets = dir_.path() + "/sets";
  fs::create_directory(sets);
  // The mount happens in a separate process, so that no other test sees it.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", sets.c_str(), "tmpfs", 0, "size=64k") != 0) {
      ::_exit(10);
    }
    const auto store = Open();
    installer_.size = 1 << 20;
    const auto full = store->Provide(Of("python"), {"six"});
    if (full.ok() || full.error().system_errno() != ENOSPC) ::_exit(11);
    if (!Left(".new").empty() || !Left(".lock-").empty() || !Left().empty()) ::_exit(12);
    installer_.size = 100;
    const auto fits = store->Provide(Of("python"), {"six"});
    ::_exit(fits.ok() && !fits->lease.path().empty() ? 0 : 13);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace polybox::packages

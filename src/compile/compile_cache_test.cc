#include "compile/compile_cache.h"

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "store/digest.h"

namespace polybox::compile {
namespace {

namespace fs = std::filesystem;

std::string KeyOf(int number) {
  return store::Sha256(fmt::format("entry {}", number));
}

/// Returns the content of the file in an entry. Each number has another length and other bytes.
std::string ContentOf(int number) {
  std::string content;
  for (int i = 0; i < 2000 + number; ++i) content += static_cast<char>('a' + (i * number) % 26);
  return content;
}

/// Returns all contents, by file name.
std::map<std::string, std::string> Unpack(const CompiledEntry& entry) {
  std::map<std::string, std::string> files;
  for (const jail::FileHeader& header : entry.files) {
    std::string content(header.size, '\0');
    EXPECT_EQ(::read(entry.file.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    files[header.name] = content;
  }
  return files;
}

class Compiled : public ::testing::Test {
 protected:
  std::unique_ptr<CompileCache> Open(Bytes size = Bytes::MiB(10)) {
    auto cache =
        CompileCache::Open({.directory = Kept(), .size = size}, log::Logger::ToStream(log_, {}));
    EXPECT_TRUE(cache.ok());
    return std::move(cache).value();
  }
  std::string Kept() const { return dir_.path() + "/cache"; }
  std::string PathOf(int number) const { return Kept() + "/" + KeyOf(number); }

  Status Store(CompileCache& cache, const std::string& key, const std::string& work) {
    const UniqueFd directory = OpenFile(work, O_RDONLY | O_DIRECTORY).value();
    return cache.Store(directory.get(), {key, inputs_, said_, outcome_});
  }
  /// Stores an entry with one file.
  void StoreNumber(CompileCache& cache, int number) {
    const testing::TempDir work;
    work.Write("main", ContentOf(number));
    const Status stored = Store(cache, KeyOf(number), work.path());
    EXPECT_TRUE(stored.ok()) << stored.error().message();
  }
  std::size_t Unfinished() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(Kept())) {
      count += entry.path().filename().string().starts_with(".new-") ? 1 : 0;
    }
    return count;
  }
  /// Returns whether the cache has the entry. Wrong contents fail the test.
  bool HasNumber(CompileCache& cache, int number) {
    const auto entry = cache.Find(KeyOf(number));
    if (!entry) return false;
    EXPECT_EQ(Unpack(*entry).at("main"), ContentOf(number));
    return true;
  }

  testing::TempDir dir_;
  std::ostringstream log_;
  std::vector<jail::InputFile> inputs_;
  std::vector<Said> said_;
  jail::Outcome outcome_;
};

TEST_F(Compiled, AnEntryHasAllThatTheCompilerLeft) {
  const testing::TempDir work;
  work.Write("z.c", "source");
  work.Write("a.h", "header");
  work.WriteExecutable("main", std::string(300'000, '\x7f'));
  work.Write("deep/er/file", "");
  fs::create_directory(work.path() + "/empty");
  fs::create_symlink("/packages/x", work.path() + "/x");
  inputs_ = {
      {"z.c", "source", 0644}, {"a.h", "header", 0644}, {"x", "/packages/x", S_IFLNK | 0777}};
  said_ = {{launch::Stream::kErr, "warning"}, {launch::Stream::kOut, std::string("\0more", 5)}};
  outcome_.wall = std::chrono::milliseconds(7);
  outcome_.memory_peak = Bytes(42);
  const auto cache = Open();
  ASSERT_TRUE(Store(*cache, KeyOf(1), work.path()).ok());

  const auto entry = Open()->Find(KeyOf(1));
  ASSERT_TRUE(entry.has_value());
  std::vector<std::string> names;
  for (const auto& file : entry->files) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"z.c", "a.h", "x", "deep", "deep/er", "deep/er/file",
                                             "empty", "main"}));
  EXPECT_EQ(entry->files[7].mode, 0755U);
  EXPECT_EQ(entry->files[0].mode, 0644U);
  EXPECT_TRUE(S_ISLNK(entry->files[2].mode));
  EXPECT_TRUE(S_ISDIR(entry->files[6].mode));
  const auto files = Unpack(*entry);
  EXPECT_EQ(files.at("main"), std::string(300'000, '\x7f'));
  EXPECT_EQ(files.at("x"), "/packages/x");
  ASSERT_EQ(entry->said.size(), 2U);
  EXPECT_EQ(entry->said[0].stream, launch::Stream::kErr);
  EXPECT_EQ(entry->said[1].text, std::string("\0more", 5));
  EXPECT_EQ(entry->outcome.wall, std::chrono::milliseconds(7));
  EXPECT_EQ(entry->outcome.memory_peak, Bytes(42));
  EXPECT_FALSE(entry->outcome.cpu_user.has_value());
}

TEST_F(Compiled, AnEntryThatIsNoPlainFileIsNotKept) {
  const auto cache = Open();
  struct Case {
    const char* name;
    std::function<void(const std::string&)> make;
  };
  const std::array<Case, 4> cases = {{
      {"a link", [](const std::string& at) { fs::create_symlink("/etc/passwd", at); }},
      {"a pipe", [](const std::string& at) { ::mkfifo(at.c_str(), 0644); }},
      {"too large",
       [](const std::string& at) {
         const UniqueFd file = OpenFile(at, O_WRONLY | O_CREAT, 0644).value();
         EXPECT_EQ(::ftruncate(file.get(), 64 << 20), 0);
       }},
      {"too deep",
       [](const std::string& at) {
         std::string path = at;
         for (int i = 0; i < 40; ++i) path += "/d";
         fs::create_directories(path);
       }},
  }};
  for (const Case& one : cases) {
    const testing::TempDir work;
    work.Write("main", "binary");
    one.make(work.path() + "/odd");
    const Status stored = Store(*cache, KeyOf(1), work.path());
    ASSERT_FALSE(stored.ok()) << one.name;
    EXPECT_EQ(stored.error().kind(), ErrorKind::kInvalid) << one.name;
    EXPECT_FALSE(cache->Find(KeyOf(1)).has_value()) << one.name;
    EXPECT_EQ(Unfinished(), 0U) << one.name;
  }
}

TEST_F(Compiled, ALinkThatWasChangedIsNotKept) {
  const testing::TempDir work;
  fs::create_symlink("/elsewhere", work.path() + "/x");
  inputs_ = {{"x", "/packages/x", S_IFLNK | 0777}};
  EXPECT_FALSE(Store(*Open(), KeyOf(1), work.path()).ok());
}

TEST_F(Compiled, ATornEntryIsNeverUsed) {
  StoreNumber(*Open(), 1);
  const std::string whole = ReadFile(PathOf(1)).value();
  const auto is_used = [&](const std::string& bytes) {
    dir_.Write("cache/" + KeyOf(1), bytes);
    return Open()->Find(KeyOf(1)).has_value();
  };
  EXPECT_TRUE(is_used(whole));
  for (std::size_t size = 0; size < whole.size(); size += size < 1900 ? 97 : 1) {
    EXPECT_FALSE(is_used(whole.substr(0, size))) << "cut at " << size;
    EXPECT_FALSE(fs::exists(PathOf(1))) << "cut at " << size;
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 1900 ? 97 : 1) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_FALSE(is_used(flipped)) << "flipped at " << at;
  }
  EXPECT_FALSE(is_used(whole + whole));
  EXPECT_FALSE(is_used(std::string(whole.size(), '\0')));
}

TEST_F(Compiled, AnEntryUnderAnotherNameIsNotUsed) {
  const auto cache = Open();
  StoreNumber(*cache, 1);
  fs::rename(PathOf(1), PathOf(2));
  EXPECT_FALSE(cache->Find(KeyOf(2)).has_value());
}

TEST_F(Compiled, OnlyOurOwnFilesAreEntries) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto cache = Open();
  StoreNumber(*cache, 1);
  ASSERT_EQ(::chown(PathOf(1).c_str(), 12345, 12345), 0);
  EXPECT_FALSE(cache->Find(KeyOf(1)).has_value());
  StoreNumber(*cache, 2);
  fs::create_symlink(PathOf(2), PathOf(3));
  EXPECT_FALSE(cache->Find(KeyOf(3)).has_value());
  EXPECT_EQ(fs::status(Kept()).permissions(), fs::perms::owner_all);
}

TEST_F(Compiled, TheLeastRecentlyUsedEntryGoesFirst) {
  // Each entry uses 4 KiB.
  const auto cache = Open(Bytes::KiB(64));
  for (int i = 0; i < 12; ++i) {
    StoreNumber(*cache, i);
    const std::array<timespec, 2> times = {{{1000 + i, 0}, {1000 + i, 0}}};
    ASSERT_EQ(::utimensat(AT_FDCWD, PathOf(i).c_str(), times.data(), 0), 0);
  }
  EXPECT_TRUE(HasNumber(*cache, 0));  // this entry is now the last one used
  for (int i = 12; i < 20; ++i) StoreNumber(*cache, i);
  EXPECT_TRUE(HasNumber(*cache, 0));
  EXPECT_FALSE(HasNumber(*cache, 1));
  EXPECT_TRUE(HasNumber(*cache, 19));
  std::uintmax_t total = 0;
  for (const auto& entry : fs::directory_iterator(Kept()))
    total += (entry.file_size() + 4095) & ~4095U;
  EXPECT_LE(total, 64U << 10U);
}

TEST_F(Compiled, AnEntryThatIsOpenSurvivesItsRemoval) {
  const auto cache = Open();
  StoreNumber(*cache, 1);
  const auto entry = cache->Find(KeyOf(1));
  fs::remove(PathOf(1));
  EXPECT_EQ(Unpack(*entry).at("main"), ContentOf(1));
}

TEST_F(Compiled, OnlyOneCallerCompilesAtATime) {
  const auto cache = Open();
  std::atomic<int> compiled = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      if (HasNumber(*cache, 1)) return;
      const CompileCache::Turn turn = cache->TakeTurn(KeyOf(1), {});
      // A thread that waited for the turn finds the entry. So does a thread that came after the
      // turn.
      if (!turn.held() || HasNumber(*cache, 1)) return;
      ++compiled;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      StoreNumber(*cache, 1);
    });
  }
  threads.clear();
  EXPECT_EQ(compiled, 1);
  EXPECT_TRUE(HasNumber(*cache, 1));
}

TEST_F(Compiled, AWaitForATurnCanBeCancelled) {
  const auto cache = Open();
  const CompileCache::Turn mine = cache->TakeTurn(KeyOf(1), {});
  EXPECT_TRUE(mine.held());
  EXPECT_TRUE(cache->TakeTurn(KeyOf(2), {}).held());
  std::jthread waiting(
      [&](const std::stop_token& stop) { EXPECT_FALSE(cache->TakeTurn(KeyOf(1), stop).held()); });
  waiting.request_stop();
  waiting.join();
}

TEST_F(Compiled, ManyAtOnceSeeWholeEntriesOnly) {
  // Two servers share a directory that is too small for all entries.
  const std::array<std::unique_ptr<CompileCache>, 2> servers = {Open(Bytes::KiB(64)),
                                                                Open(Bytes::KiB(64))};
  std::atomic<int> found = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      CompileCache& cache = *servers[i % 2];
      for (int round = 0; round < 150; ++round) {
        const int number = (round * 7 + static_cast<int>(i) * 3) % 24;
        if (HasNumber(cache, number)) {
          ++found;
        } else {
          StoreNumber(cache, number);
        }
      }
    });
  }
  threads.clear();
  EXPECT_GT(found, 0);
  EXPECT_EQ(log_.str(), "");
  EXPECT_EQ(Unfinished(), 0U);
}

TEST_F(Compiled, AKilledServerLeavesNothingThatIsUsed) {
  for (int round = 0; round < 15; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto cache = Open();
      for (int i = 0;; ++i) StoreNumber(*cache, i % 10);
    }
    // sleeps: the kill comes at another moment of the work in each round.
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + 2 * round));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto cache = Open();
    for (int i = 0; i < 10; ++i) HasNumber(*cache, i);
    cache->CleanUp();
    EXPECT_EQ(Unfinished(), 0U);
  }
  EXPECT_EQ(log_.str(), "");
}

TEST_F(Compiled, CleaningUpLeavesWhatAnotherIsWriting) {
  const auto cache = Open();
  const std::string name = dir_.path() + "/cache/.new-abcdef";
  {
    const UniqueFd file = OpenFile(name, O_WRONLY | O_CREAT, 0600).value();
    ASSERT_EQ(::flock(file.get(), LOCK_SH), 0);
    cache->CleanUp();
    EXPECT_TRUE(fs::exists(name));
  }
  cache->CleanUp();
  EXPECT_FALSE(fs::exists(name));
}

TEST_F(Compiled, ADirectoryThatCannotBeMadeIsAnError) {
  dir_.Write("file", "");
  EXPECT_FALSE(CompileCache::Open({.directory = dir_.path() + "/file/cache"},
                                  log::Logger::ToStream(log_, {}))
                   .ok());
}

}  // namespace
}  // namespace polybox::compile

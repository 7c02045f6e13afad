// The rules of init/raw.h: what the cell init and the waiting guest, which share the memory of the
// slot init, may call and have. docs/design/jail.md lists the rules with the tests of each.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "jail/testing/family.h"
#include "jail/testing/full_slot.h"
#include "sys/command.h"

namespace polybox::jail {
namespace {

/// The object files of the code that runs in shared memory, with the calls of the C library that
/// these files make only in functions which the slot init runs.
const std::map<std::string, std::set<std::string>> kFiles = {
    {"cell_init", {"sigaction", "sigfillset", "__libc_current_sigrtmin"}},
    {"cpu_share", {}},
    {"guest", {}},
    {"last_word", {"close", "ftruncate", "getpid", "madvise", "memfd_create", "mmap", "munmap"}},
    {"proc", {"lstat", "mount", "readlink", "umount2"}},
    {"raw_messages", {}},
    {"run_view", {}},
    {"waiting", {"madvise"}},
};

/// What the compiler itself may call: it neither allocates nor writes errno.
bool IsHarmless(std::string_view symbol) {
  constexpr std::string_view kFunctions[] = {"memcpy",       "memmove",          "memset",
                                             "memcmp",       "__memcpy_chk",     "__memmove_chk",
                                             "__memset_chk", "__stack_chk_fail", "strlen"};
  // Failed checks end the process. The kernel's helpers for atomics of AArch64 are plain code.
  return std::ranges::count(kFunctions, symbol) != 0 ||
         symbol.starts_with("std::__glibcxx_assert_fail") || symbol.starts_with("__aarch64_");
}

/// Functions of polybox outside these files that they call. Each keeps the rules too.
bool IsKnown(std::string_view symbol) {
  constexpr std::string_view kPrefix = "polybox::jail::init::";
  if (!symbol.starts_with(kPrefix)) return false;
  constexpr std::string_view kNames[] = {"CloseEnd",
                                         "Encode(MessageKind)",
                                         "Encode(polybox::jail::init::MessageKind)",
                                         "Encode(polybox::jail::init::Fork const&)",
                                         "Encode(polybox::jail::init::Ended const&)",
                                         "Encode(polybox::jail::init::Failed const&)",
                                         "UnpackUsedBefore(unsigned long)",
                                         "GuestIds()",
                                         "SharesUsers()",
                                         "Stack::CloseEnd()"};
  return std::ranges::count(kNames, symbol.substr(kPrefix.size())) != 0;
}

struct Symbols {
  std::set<std::string> defined;
  std::map<std::string, std::set<std::string>> undefined;
};

/// Reads the names that the object files define and need.
Symbols ReadSymbols() {
  const std::string nm = sys::FindOnPath("nm", std::getenv("PATH"));
  Symbols symbols;
  for (const auto& [name, calls] : kFiles) {
    const std::string object = fmt::format("{}/{}.cc.o", POLYBOX_INIT_OBJECTS, name);
    const auto output = sys::RunCommand({.argv = {nm, "-C", object}});
    if (!output.ok() || !output->ok()) {
      ADD_FAILURE() << "nm cannot read " << object;
      continue;
    }
    std::istringstream lines(output->out);
    for (std::string line; std::getline(lines, line);) {
      // An address or blanks, the kind, the name.
      const std::size_t kind = line.find_first_not_of(" 0123456789abcdef");
      const std::string symbol = line.substr(kind + 2);
      if (line[kind] == 'U') {
        symbols.undefined[name].insert(symbol);
      } else {
        symbols.defined.insert(symbol);
      }
    }
  }
  return symbols;
}

TEST(SharedMemoryCode, NeitherAllocatesNorMakesCallsThatWriteErrno) {
  const Symbols symbols = ReadSymbols();
  EXPECT_TRUE(symbols.defined.contains("polybox::jail::init::CellMain(void*)"));
  for (const auto& [file, needed] : symbols.undefined) {
    for (const std::string& symbol : needed) {
      EXPECT_TRUE(IsHarmless(symbol) || IsKnown(symbol) || symbols.defined.contains(symbol) ||
                  kFiles.at(file).contains(symbol))
          << file << ".cc calls " << symbol << ", which raw.h does not allow";
    }
  }
}

/// A slot with a waiting guest: the slot init, its cell init and the guest share their memory.
class SharedMemory : public FullSlot {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(Shell("echo a").out, "a\n");
    ASSERT_TRUE(slot_->Reset().ok());
    cell_ = ChildNamed(slot_->pid(), "polybox-cell");
    ASSERT_GT(cell_, 0);
    ASSERT_EQ(ChildrenOf(cell_).size(), 1U);
    guest_ = ChildrenOf(cell_)[0];
  }

  static std::string File(pid_t pid, const char* name) {
    return ReadFile(fmt::format("/proc/{}/{}", pid, name)).value_or("");
  }
  /// Returns a field of /proc/PID/status.
  static std::string Status(pid_t pid, const std::string& field) {
    const std::string text = File(pid, "status");
    const std::size_t at = text.find("\n" + field + ":\t");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + field.size() + 3;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  /// Returns what the descriptors of a process are, by number.
  static std::map<int, std::string> Descriptors(pid_t pid) {
    std::map<int, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
      found[std::stoi(entry.path().filename())] = std::filesystem::read_symlink(entry.path());
    }
    return found;
  }

  pid_t cell_ = -1;
  pid_t guest_ = -1;
};

TEST_F(SharedMemory, IsThatOfThreeProcessesWithOneThreadEach) {
  const std::string maps = File(slot_->pid(), "maps");
  EXPECT_EQ(File(cell_, "maps"), maps);
  EXPECT_EQ(File(guest_, "maps"), maps);
  for (const pid_t pid : {slot_->pid(), cell_, guest_}) EXPECT_EQ(Status(pid, "Threads"), "1");
}

TEST_F(SharedMemory, HasAGuardPageBelowTheStacksOfTheCellInitAndOfTheGuest) {
  std::istringstream maps(File(slot_->pid(), "maps"));
  int guards = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[5] = "";
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3);
    if (std::string_view(rights) == "---p" && end - begin == 4096) ++guards;
  }
  EXPECT_EQ(guards, 2);
}

TEST_F(SharedMemory, DoesNotGiveTheGuestTheSignalHandlersOfTheCellInit) {
  const std::string none(16, '0');
  EXPECT_NE(Status(cell_, "SigCgt"), none);
  EXPECT_EQ(Status(guest_, "SigCgt"), none);
  EXPECT_EQ(Status(slot_->pid(), "SigCgt"), none);
}

TEST_F(SharedMemory, DoesNotGiveOthersTheDescriptorsOfTheSlotInit) {
  // The number at which the slot init has its socket to the server.
  constexpr int kServer = 3;
  const std::string server = Descriptors(slot_->pid())[kServer];
  ASSERT_TRUE(server.starts_with("socket:")) << server;
  for (const pid_t pid : {cell_, guest_}) {
    for (const auto& [number, what] : Descriptors(pid)) EXPECT_NE(what, server) << number;
  }
  std::map<int, std::string> of_guest = Descriptors(guest_);
  std::erase_if(of_guest, [](const auto& one) { return one.first <= 2; });
  EXPECT_EQ(of_guest.size(), 1U) << "the guest has only its socket";
}

}  // namespace
}  // namespace polybox::jail

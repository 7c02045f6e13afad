// With SlotOptions::reuse off, nothing that a guest can write to outlives its session.
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "jail/testing/full_slot.h"

namespace polybox::jail {
namespace {

// Run by a guest that changes nothing. With reuse on, the next guest would get the same values.
constexpr const char* kNames =
    "readlink /proc/self/ns/net /proc/self/ns/ipc; stat -c %z /sandbox /tmp /dev/shm";

class ReuseOff : public FullSlot {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    SlotOptions options = Options();
    options.reuse = false;
    slot_.reset();
    slot_.emplace(Slot::Make(options).value());
  }

  std::vector<std::string> NamesInNextSession() {
    const Ran ran = Shell(kNames);
    EXPECT_TRUE(slot_->Reset().ok());
    std::vector<std::string> names;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
  }
};

TEST_F(ReuseOff, MakesNamespacesAndScratchDirectoriesAnewForEachSession) {
  const std::vector<std::string> first = NamesInNextSession();
  const std::vector<std::string> second = NamesInNextSession();
  ASSERT_EQ(first.size(), 5U);
  ASSERT_EQ(second.size(), 5U);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NE(first[i], second[i]) << i;
}

TEST_F(ReuseOff, MakesThePidNamespaceAnewForEachGuest) {
  const auto name = [&] { return RunArgv({"/bin/readlink", "/proc/self/ns/pid"}).out; };
  const std::string first = name();
  EXPECT_NE(name(), first);
}

}  // namespace
}  // namespace polybox::jail

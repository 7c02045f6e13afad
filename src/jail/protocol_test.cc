#include "jail/init/protocol.h"

#include <gtest/gtest.h>

namespace polybox::jail::init {
namespace {

Setup SampleSetup() {
  init::Setup setup;
  setup.operations.push_back({.kind = OperationKind::kBind,
                              .target = "usr",
                              .source = "/usr",
                              .tree = 3,
                              .flags = 7,
                              .bytes = 1,
                              .inodes = 2,
                              .mode = 0755,
                              .is_file = true});
  setup.filter_of_slot = "slot";
  setup.filter_of_guest = std::string("\0\1\2", 3);
  setup.has_root = true;
  setup.bare = {Walls::kLandlock, "/home", 7, true, {{"/usr", 5}, {"tmp", 6}}};
  return setup;
}

TEST(Protocol, MessagesAreReadBack) {
  init::Setup setup;
  ASSERT_TRUE(Decode(Encode(SampleSetup()), setup));
  EXPECT_EQ(setup.operations, SampleSetup().operations);
  EXPECT_EQ(setup.filter_of_slot, SampleSetup().filter_of_slot);
  EXPECT_EQ(setup.filter_of_guest, SampleSetup().filter_of_guest);
  EXPECT_TRUE(setup.has_root);
  EXPECT_EQ(setup.bare.walls, Walls::kLandlock);
  EXPECT_EQ(setup.bare.home, "/home");
  EXPECT_EQ(setup.bare.uid, 7U);
  EXPECT_TRUE(setup.bare.closed_trees);
  EXPECT_EQ(setup.bare.rules, SampleSetup().bare.rules);

  init::Run sent;
  sent.argv = {"/bin/sh", "", "-c"};
  sent.env = {"A=b"};
  sent.limits = {{1, 2}};
  sent.directory = "/sandbox";
  init::Run run;
  ASSERT_TRUE(Decode(Encode(sent), run));
  EXPECT_EQ(run.argv, sent.argv);
  EXPECT_EQ(run.limits.at(0).value, 2U);
  EXPECT_EQ(run.directory, "/sandbox");

  const UsedBefore before = UnpackUsedBefore(PackUsedBefore({2, 5}, {0, 7}));
  EXPECT_EQ(before.user_nanoseconds, 2'000'005'000U);
  EXPECT_EQ(before.system_nanoseconds, 7000U);
  EXPECT_NE(PackUsedBefore({0, 0}, {0, 0}), 0U);

  OpenDirectory directory;
  ASSERT_TRUE(Decode(Encode(OpenDirectory{"out", true}), directory));
  EXPECT_TRUE(directory.after_run);
  EXPECT_EQ(directory.name, "out");

  PodReady ready;
  ASSERT_TRUE(Decode(Encode(PodReady{7, 8}), ready));
  EXPECT_EQ(ready.guest, 8);

  Failed failed;
  ASSERT_TRUE(Decode(Encode(Failed{Stage::kExec, 2, 9}), failed));
  EXPECT_EQ(failed.index, 9);
}

TEST(Protocol, AMessageCutAnywhereIsRefused) {
  const std::string whole = Encode(SampleSetup());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    init::Setup setup;
    EXPECT_FALSE(Decode(std::string_view(whole).substr(0, length), setup)) << length;
  }
  init::Setup setup;
  EXPECT_FALSE(Decode(whole + "x", setup)) << "nor one with something left over";
}

TEST(Protocol, LengthsAreNotTrusted) {
  // A list that claims four billion entries, and a text that claims to be as long.
  init::Setup setup;
  EXPECT_FALSE(Decode(std::string("\0\xff\xff\xff\xff", 5), setup));
  Files files;
  EXPECT_FALSE(Decode(std::string("\1\xff\xff\xff\x7f/x", 7), files));
}

TEST(Protocol, OneKindIsNotTakenForAnother) {
  Ended ended;
  EXPECT_FALSE(Decode(Encode(Failed{}), ended));
  EXPECT_FALSE(Decode("", ended));
}

TEST(Protocol, EveryStageHasAName) {
  for (int stage = 0; stage <= static_cast<int>(Stage::kExec); ++stage) {
    EXPECT_STRNE(StageName(static_cast<Stage>(stage)), "do something unknown");
  }
  EXPECT_STREQ(StageName(static_cast<Stage>(200)), "do something unknown");
}

}  // namespace
}  // namespace polybox::jail::init

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
  setup.bare = {Walls::kLandlock, "/home", 7, 8, 9, true, {{"/usr", 5}, {"tmp", 6}}};
  setup.reuse = false;
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
  EXPECT_EQ(setup.bare.user, 8U);
  EXPECT_EQ(setup.bare.group, 9U);
  EXPECT_TRUE(setup.bare.closed_trees);
  EXPECT_EQ(setup.bare.rules, SampleSetup().bare.rules);
  EXPECT_FALSE(setup.reuse);

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

  CellReady ready;
  ASSERT_TRUE(Decode(Encode(CellReady{7, 8}), ready));
  EXPECT_EQ(ready.guest, 8);

  Failed failed;
  ASSERT_TRUE(Decode(Encode(Failed{Stage::kExec, 2, 9}), failed));
  EXPECT_EQ(failed.index, 9);
}

TEST(Protocol, MessagesOfLeasesAreReadBack) {
  StartProcess sent;
  sent.run.argv = {"/bin/sh", "-c"};
  sent.run.limits = {{1, 2}};
  sent.terminal = true;
  sent.rows = 24;
  sent.columns = 80;
  sent.join_count = 4;
  sent.clone_into = true;
  StartProcess order;
  ASSERT_TRUE(Decode(Encode(sent), order));
  EXPECT_EQ(order.run.argv, sent.run.argv);
  EXPECT_EQ(order.run.limits, sent.run.limits);
  EXPECT_TRUE(order.terminal && order.clone_into);
  EXPECT_EQ(order.rows, 24);
  EXPECT_EQ(order.columns, 80);
  EXPECT_EQ(order.join_count, 4U);

  const SealPaths paths = {{{"/w/.git", 1, 2, true}, {"/w/.envrc", 3, 4, false}}};
  SealPaths seals;
  ASSERT_TRUE(Decode(Encode(paths), seals));
  EXPECT_EQ(seals.paths, paths.paths);
  Sealed sealed;
  ASSERT_TRUE(Decode(Encode(Sealed{{{0}, {116}}}), sealed));
  EXPECT_EQ(sealed.results, (std::vector<SealResult>{{0}, {116}}));

  SendSignal signal;
  ASSERT_TRUE(Decode(Encode(SendSignal{15}), signal));
  EXPECT_EQ(signal.number, 15);

  TreeEnded ended;
  ASSERT_TRUE(Decode(Encode(TreeEnded{1, 2, 3}), ended));
  EXPECT_EQ(ended.largest_resident_bytes, 3U);
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
  // A list whose length claims four billion entries, and a text whose length does.
  init::Setup setup;
  EXPECT_FALSE(Decode(std::string("\0\xff\xff\xff\xff", 5), setup));
  Files files;
  EXPECT_FALSE(Decode(std::string("\1\xff\xff\xff\x7f/x", 7), files));
}

TEST(Protocol, AMessageIsNotTakenForAnotherKind) {
  Ended ended;
  EXPECT_FALSE(Decode(Encode(Failed{}), ended));
  EXPECT_FALSE(Decode("", ended));
}

TEST(Protocol, EveryStageHasAName) {
  for (int stage = 0; stage <= static_cast<int>(Stage::kTerminal); ++stage) {
    EXPECT_STRNE(StageName(static_cast<Stage>(stage)), "do something unknown");
  }
  EXPECT_STREQ(StageName(static_cast<Stage>(200)), "do something unknown");
}

}  // namespace
}  // namespace polybox::jail::init

#include "jail/init/run_view.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace polybox::jail::init {
namespace {

class RunViewTest : public ::testing::Test {
 protected:
  /// Reads the first `size` bytes of `message`.
  bool Read(const std::string& message, std::size_t size) {
    view_ = {};
    std::memcpy(room_->bytes.data(), message.data(), size);
    return ReadInPlace(*room_, size, view_);
  }
  static std::vector<std::string> Texts(char** words) {
    std::vector<std::string> texts;
    for (; *words != nullptr; ++words) texts.emplace_back(*words);
    return texts;
  }

  const std::unique_ptr<RunRoom> room_ = std::make_unique<RunRoom>();
  RunView view_;
};

init::Run Sample() {
  init::Run run;
  run.argv = {"/bin/sh", "", "-c"};
  run.env = {"A=b", "LONG=" + std::string(5000, 'x')};
  run.directory = "/sandbox";
  run.limits = {{1, 2}, {3, ~0ULL}};
  return run;
}

TEST_F(RunViewTest, ARunIsReadInPlaceAsSent) {
  const init::Run sent = Sample();
  const std::string message = Encode(sent);
  ASSERT_TRUE(Read(message, message.size()));
  EXPECT_EQ(Texts(view_.argv), sent.argv);
  EXPECT_EQ(Texts(view_.env), sent.env);
  EXPECT_STREQ(view_.directory, "/sandbox");
  EXPECT_EQ(std::vector(view_.limits.begin(), view_.limits.end()), sent.limits);
}

TEST_F(RunViewTest, AMessageThatIsCutShortIsNone) {
  const std::string message = Encode(Sample());
  // All fields except those that only started interpreters read: a flag and a filter.
  const std::size_t needed = message.size() - 1 - sizeof(std::uint32_t);
  for (std::size_t size = 0; size < needed; ++size) {
    EXPECT_FALSE(Read(message, size)) << size;
  }
  EXPECT_TRUE(Read(message, needed));
}

TEST_F(RunViewTest, OtherMessagesAndProgramsWithoutANameAreNone) {
  init::Run nameless = Sample();
  nameless.argv.clear();
  for (const std::string& message : {Encode(nameless), Encode(Resize{1, 2})}) {
    EXPECT_FALSE(Read(message, message.size()));
  }
}

TEST_F(RunViewTest, AsManyWordsAsAMessageHoldsHaveRoom) {
  init::Run run = Sample();
  run.env.assign((kLargestMessage - 200) / sizeof(std::uint32_t), "");
  const std::string message = Encode(run);
  ASSERT_LE(message.size(), kLargestMessage);
  ASSERT_TRUE(Read(message, message.size()));
  EXPECT_EQ(Texts(view_.env).size(), run.env.size());
}

TEST_F(RunViewTest, ACountThatLiesIsNotBelieved) {
  // The message claims a million arguments and has none.
  std::string message(1, static_cast<char>(MessageKind::kRun));
  const std::uint32_t count = 1'000'000;
  message.append(reinterpret_cast<const char*>(&count), sizeof count);
  message.append(kLargestMessage - message.size(), '\0');
  EXPECT_FALSE(Read(message, message.size()));
}

}  // namespace
}  // namespace polybox::jail::init

#include "jail/init/messages.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/unique_fd.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {
namespace {

class Messages : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    here_ = UniqueFd(ends[0]);
    there_ = UniqueFd(ends[1]);
  }

  UniqueFd here_;
  UniqueFd there_;
};

TEST_F(Messages, OfAnyLengthArriveWhole) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{1024}, kLargestMessage}) {
    const std::string sent(length, 'x');
    ASSERT_TRUE(Send(here_.get(), sent));
    Received received;
    ASSERT_TRUE(Receive(there_.get(), received));
    EXPECT_EQ(received.bytes, sent);
  }
}

TEST_F(Messages, AMessageThatDoesNotFitIsNone) {
  ASSERT_TRUE(Send(here_.get(), std::string(1025, 'x')));
  Received cut;
  EXPECT_FALSE(ReceiveShort(there_.get(), cut));
  EXPECT_EQ(cut.bytes, "");
  ASSERT_TRUE(Send(here_.get(), std::string(1024, 'y')));
  Received whole;
  EXPECT_TRUE(ReceiveShort(there_.get(), whole));
  EXPECT_EQ(whole.bytes, std::string(1024, 'y'));
}

TEST_F(Messages, DescriptorsAreThoseThatWereSentAndGoWithTheMessage) {
  int came = -1;
  {
    ASSERT_TRUE(Send(here_.get(), "x", {here_.get(), there_.get()}));
    Received received;
    ASSERT_TRUE(ReceiveShort(there_.get(), received));
    ASSERT_EQ(received.fds.size(), 2);
    came = received.fds[1];
    struct stat mine{};
    struct stat theirs{};
    ASSERT_EQ(::fstat(there_.get(), &mine), 0);
    ASSERT_EQ(::fstat(came, &theirs), 0);
    EXPECT_EQ(mine.st_ino, theirs.st_ino);
  }
  EXPECT_EQ(::fcntl(came, F_GETFD), -1);
}

TEST_F(Messages, ThereIsNoneWhenTheOtherSideIsGone) {
  ASSERT_TRUE(Send(here_.get(), "last"));
  here_.reset();
  Received last;
  EXPECT_TRUE(ReceiveShort(there_.get(), last));
  EXPECT_EQ(last.bytes, "last");
  Received none;
  EXPECT_FALSE(ReceiveShort(there_.get(), none));
  EXPECT_FALSE(Receive(there_.get(), none));
  EXPECT_FALSE(Send(there_.get(), "x"));
}

}  // namespace
}  // namespace polybox::jail::init

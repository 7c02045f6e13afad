#include "mcp/sessions.h"

#include <gtest/gtest.h>

namespace polybox::mcp {
namespace {

TEST(Sessions, ASessionExistsOnlyForItsPrincipal) {
  Sessions sessions;
  const auto session = sessions.Begin("one");
  EXPECT_EQ(sessions.Find("one", session->id), session);
  EXPECT_EQ(sessions.Find("two", session->id), nullptr);
  EXPECT_FALSE(sessions.End("two", session->id));
  EXPECT_TRUE(sessions.End("one", session->id));
  EXPECT_EQ(sessions.Find("one", session->id), nullptr);
}

TEST(Sessions, TheOneUsedLongestAgoGivesWay) {
  Sessions sessions({.of_principal = 2});
  const auto first = sessions.Begin("one");
  const auto second = sessions.Begin("one");
  sessions.Find("one", first->id);
  const auto third = sessions.Begin("one");
  EXPECT_NE(sessions.Find("one", first->id), nullptr);
  EXPECT_EQ(sessions.Find("one", second->id), nullptr);
  EXPECT_NE(sessions.Find("one", third->id), nullptr);
}

TEST(Sessions, OneWithAStreamStays) {
  Sessions sessions({.of_principal = 1});
  const auto session = sessions.Begin("one");
  session->conversation->OpenStream([](const json::Value&) {});
  EXPECT_EQ(sessions.Begin("one"), nullptr);
  session->conversation->CloseStream();
  EXPECT_NE(sessions.Begin("one"), nullptr);
}

TEST(Sessions, NoPrincipalEndsTheSessionOfAnother) {
  Sessions sessions({.of_principal = 2, .in_all = 2});
  const auto one = sessions.Begin("one");
  sessions.Begin("one");
  EXPECT_EQ(sessions.Begin("two"), nullptr);
  EXPECT_NE(sessions.Find("one", one->id), nullptr);
}

TEST(Sessions, AnEndedSessionCancelsItsCalls) {
  Sessions sessions;
  const auto session = sessions.Begin("one");
  bool cancelled = false;
  const auto call = std::make_shared<Call>(
      nullptr, [&](const std::optional<json::Object>& answer) { cancelled = !answer; });
  EXPECT_EQ(session->conversation->Open(1, call), "");
  EXPECT_EQ(session->conversation->Open(1, call), "a request with this id runs already");
  sessions.End("one", session->id);
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(call->stop_token().stop_requested());
}

}  // namespace
}  // namespace polybox::mcp

#include "mcp/request_state.h"

#include <gtest/gtest.h>

#include "json/write.h"

namespace polybox::mcp {
namespace {

Request Call(std::string_view tool, json::Object arguments = {}) {
  return {.id = 1,
          .method = "tools/call",
          .params = {{"name", tool}, {"arguments", std::move(arguments)}}};
}

const json::Object kAnswers = {{"name", json::Object{{"action", "accept"}}}};

TEST(StateSeal, TheSameRequestOfTheSameCallerGetsItsAnswersBack) {
  const StateSeal seal;
  const std::string state = seal.Close(kAnswers, Call("a"), "one").value();
  EXPECT_EQ(json::Write(seal.Open(state, Call("a"), "one").value()), json::Write(kAnswers));
}

TEST(StateSeal, AStateIsGoodForNothingElse) {
  const StateSeal seal;
  const std::string state = seal.Close(kAnswers, Call("a"), "one").value();
  EXPECT_FALSE(seal.Open(state, Call("a"), "two").ok()) << "another caller";
  EXPECT_FALSE(seal.Open(state, Call("b"), "one").ok()) << "another tool";
  EXPECT_FALSE(seal.Open(state, Call("a", {{"x", 1}}), "one").ok()) << "other arguments";
  Request prompt = Call("a");
  prompt.method = "prompts/get";
  EXPECT_FALSE(seal.Open(state, prompt, "one").ok()) << "another method";
  EXPECT_FALSE(StateSeal().Open(state, Call("a"), "one").ok()) << "another server";
  // The parts of what is sealed cannot be shifted into each other.
  EXPECT_FALSE(seal.Open(seal.Close(kAnswers, Call("a"), "onet").value(),
                         Request{.id = 1, .method = "ttools/call", .params = Call("a").params},
                         "one")
                   .ok());
}

TEST(StateSeal, EveryChangeIsNoticed) {
  const StateSeal seal;
  const std::string state = seal.Close(kAnswers, Call("a"), "one").value();
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::string changed = state;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(seal.Open(changed, Call("a"), "one").ok()) << i;
    EXPECT_FALSE(seal.Open(state.substr(0, i), Call("a"), "one").ok()) << i;
  }
  EXPECT_FALSE(seal.Open(state + " ", Call("a"), "one").ok());
  EXPECT_FALSE(seal.Open(std::string(1 << 20, 'x'), Call("a"), "one").ok());
}

TEST(StateSeal, AStateExpires) {
  const StateSeal seal(std::chrono::seconds(-10));
  const std::string state = seal.Close(kAnswers, Call("a"), "one").value();
  EXPECT_EQ(seal.Open(state, Call("a"), "one").error().message(), "requestState has expired");
}

TEST(StateSeal, ALongStateIsRefused) {
  EXPECT_FALSE(StateSeal().Close({{"x", std::string(1 << 20, 'x')}}, Call("a"), "one").ok());
}

}  // namespace
}  // namespace polybox::mcp

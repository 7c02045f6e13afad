#include "http/doors/console.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "http/testing/fakes.h"

namespace polybox::http {
namespace {

using testing::FakeExchange;
using testing::Get;

std::shared_ptr<FakeExchange> Ask(Request request) {
  return testing::Send(MakeConsoleDoor(), std::move(request));
}

TEST(Console, EveryFileIsServedWithItsTypeAndThePolicy) {
  ASSERT_GT(ConsoleFiles().size(), 5U);
  for (const EmbeddedFile& file : ConsoleFiles()) {
    if (file.name == "index.html") continue;
    const auto answer = Ask(Get("/console/" + std::string(file.name)));
    EXPECT_EQ(answer->response.status, 200) << file.name;
    EXPECT_EQ(answer->response.body, file.content);
    EXPECT_EQ(answer->response.content_type, ConsoleType(file.name));
    EXPECT_NE(answer->response.content_type, "") << file.name;
    EXPECT_EQ(answer->Header("Cache-Control"), "no-cache");
  }
}

TEST(Console, ThePolicyAllowsThisServerAloneAndNoMarkupFromText) {
  const Response page = ConsolePage(Get("/"));
  std::string policy;
  for (const auto& [name, value] : page.headers) {
    if (name == "Content-Security-Policy") policy = value;
  }
  EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
  for (const char* part : {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
                           "connect-src 'self'", "require-trusted-types-for 'script'"}) {
    EXPECT_NE(policy.find(part), std::string::npos) << part;
  }
  for (const char* part : {"unsafe", "http:", "https:", "data:", "*"}) {
    EXPECT_EQ(policy.find(part), std::string::npos) << part;
  }
}

// A script, a style or a handler in the page would be refused by the policy.
TEST(Console, ThePageHasNoScriptOrStyleOfItsOwn) {
  const std::string page = ConsolePage(Get("/")).body;
  EXPECT_NE(page.find("<script type=\"module\" src=\"console/main.js\"></script>"),
            std::string::npos);
  for (const char* part : {"<style", " style=", "javascript:", " onclick", " onload", "<script>"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
}

TEST(Console, AFileThatTheBrowserHasIsNotSentAgain) {
  std::set<std::string> tags;
  for (const EmbeddedFile& file : ConsoleFiles()) {
    const std::string path = "/console/" + std::string(file.name);
    if (file.name == "index.html") continue;
    const std::string tag = Ask(Get(path))->Header("ETag");
    EXPECT_EQ(tag.size(), 18U) << tag;
    EXPECT_TRUE(tags.insert(tag).second) << "two files have one tag";
    Request again = Get(path);
    again.headers = {{"If-None-Match", "\"other\", W/" + tag}};
    const auto answer = Ask(again);
    EXPECT_EQ(answer->response.status, 304);
    EXPECT_EQ(answer->response.body, "");
    EXPECT_EQ(answer->Header("ETag"), tag);
    again.headers = {{"If-None-Match", "\"other\""}};
    EXPECT_EQ(Ask(again)->response.status, 200);
  }
}

TEST(Console, OtherPathsAreNotFound) {
  for (const char* path : {"/console/", "/console/index.html", "/console/nothing.js",
                           "/console/../api.json", "/console/main.js/", "/console//main.js"}) {
    EXPECT_EQ(Ask(Get(path))->response.status, 404) << path;
  }
}

}  // namespace
}  // namespace polybox::http

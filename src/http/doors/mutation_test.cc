// Feeds damaged input to every parser of bytes from the network. The sanitizers and the library's
// assertions detect a read past the end.
#include <random>

#include <gtest/gtest.h>

#include "http/base64.h"
#include "http/doors/event_stream.h"
#include "http/doors/execute_body.h"
#include "http/doors/execute_request.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/multipart.h"
#include "http/doors/run_body.h"
#include "http/doors/shell_words.h"

namespace polybox::http {
namespace {

const std::vector<std::string>& Seeds() {
  static const std::vector<std::string> seeds = {
      R"({"code":"say \"\u00e9\ud83d\ude00\"","timeout_seconds":-5,"files":{"a/b":"aGk=","c":""}})",
      R"({"command":["x",{"y":[1.5e-3,null,true]}],"args":["a","\\","\""],"env":{"A":"b"}})",
      R"({"runtime":"go","files":[{"name":"a","content":"AP8=","base64_encoded":true},null]})",
      R"({"stdin":{"content":"x","base64_encoded":false},"limits":{"processes":9223372036854775808}})",
      "--B\r\nContent-Disposition: form-data; name=\"file\"; "
      "filename=\"a\\\"b\"\r\n\r\nx\r\n--B--\r\n",
      "--B\r\n\r\n\r\n--B\r\nContent-Disposition: x; filename*=utf-8''%C3%A9; "
      "name=file\r\n\r\n\r\n--B--",
      "sh -c 'a \"b\" \\c' \"d\\\"\\e\" ''",
      "Zm9v\r\nYmE=\n",
  };
  return seeds;
}

/// Makes one to four small changes.
std::string Mutate(std::string text, std::mt19937& random) {
  const std::string_view interesting = "{}[]\",:\\u0d8=-\r\n'\xff\xc3\xed";
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    switch (below(4)) {
      case 0:
        text.insert(at, 1, interesting[below(interesting.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(16)));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

void ReadAsEverything(const std::string& text) {
  ExecuteOptions options;
  options.languages.emplace_back().id = options.language = "python";
  options.languages[0].entry_file = "script.py";
  if (auto body = ReadExecuteBody(text); body.ok()) {
    body->code = "x";
    const auto order = OrderFor(std::move(body).value(), options);
    if (order.ok()) {
      for (const jail::InputFile& file : std::get<exec::Program>(order->request.work).files) {
        EXPECT_TRUE(CheckedFileName(file.name).ok()) << text;
      }
    }
  }
  RunOptions run;
  run.languages = options.languages;
  if (auto body = ReadRunBody(text, run.limits); body && !body->mistyped)
    (void)CheckRunBody(*std::move(body), run);
  const auto upload = FindUpload("multipart/form-data; boundary=B", text, "file");
  if (upload.ok() && *upload) {
    EXPECT_LE((*upload)->content.size(), text.size());
  }
  (void)SplitShellWords(text);
  if (const auto bytes = DecodeBase64(text); bytes.ok()) {
    EXPECT_EQ(DecodeBase64(EncodeBase64(*bytes)).value(), *bytes);
  }
  EXPECT_LE(WholeCharacters(text), text.size());
  const auto quoted = ReadExecuteBody("{\"code\":" + QuoteJson(text) + "}");
  EXPECT_TRUE(quoted.ok() && quoted->complaint.empty()) << text;
}

TEST(Mutation, DamagedInputIsReadOrRefused) {
  std::mt19937 random(1);  // NOLINT: the same input every time
  for (int round = 0; round < 1000; ++round) {
    for (const std::string& seed : Seeds()) ReadAsEverything(Mutate(seed, random));
  }
}

}  // namespace
}  // namespace polybox::http

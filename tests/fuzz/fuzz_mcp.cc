// Messages of MCP: lines, JSON-RPC, every version, and the arguments of tools. The first byte of
// the input says which version `initialize` has settled on, if any, and where the bytes are cut in
// two.
#include <array>
#include <ostream>

#include <boost/json.hpp>

#include "fuzz/fuzz.h"
#include "json/parse.h"
#include "json/write.h"
#include "mcp/connection.h"
#include "mcp/line_reader.h"
#include "tools/testing/sample_tools.h"

namespace polybox::fuzz {
namespace {

using tools::testing::BlocksTool;
using tools::testing::BudgetTool;
using tools::testing::EchoTool;
using tools::testing::FailTool;
using tools::testing::ThrowTool;

// Small, so that the fuzzer reaches them.
constexpr Bytes kLongest(600);
constexpr std::size_t kLargestBatch = 4;

constexpr std::array<const char*, 4> kVersions = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                  "2025-11-25"};

const mcp::Dispatcher& Dispatcher() {
  static std::ostream nowhere(nullptr);
  static const log::Logger kLog = log::Logger::ToStream(nowhere, {});
  static const mcp::Dispatcher kDispatcher(
      {.tools =
           tools::Registry::Make({BlocksTool(), BudgetTool(), EchoTool(), FailTool(), ThrowTool()})
               .value(),
       .version = "1"},
      kLog);
  return kDispatcher;
}

/// Checks that `value` is one response of JSON-RPC.
void CheckResponse(const boost::json::value& value, std::string_view text) {
  Check(value.is_object(), "a response is an object", text);
  const boost::json::object& response = value.get_object();
  Check(response.contains("jsonrpc") && response.at("jsonrpc") == "2.0", "of version 2.0", text);
  Check(response.contains("result") != response.contains("error"), "a result or an error", text);
  Check(response.contains("id") || response.contains("error"), "a result has an id", text);
}

/// Checks the answers to one line against what can be said of the line without the code of polybox.
void CheckAnswers(std::string_view line, const std::vector<std::string>& answers) {
  Check(answers.size() <= 1, "a line has one answer at most", line);
  boost::json::value answer;
  if (!answers.empty()) {
    const std::string& text = answers.front();
    Check(text.find('\n') == std::string::npos, "an answer is one line", text);
    boost::system::error_code error;
    answer = boost::json::parse(text, error);
    Check(!error, "an answer is JSON", text);
    if (answer.is_array()) {
      Check(!answer.get_array().empty() && answer.get_array().size() <= kLargestBatch,
            "as many answers as messages at most", text);
      for (const boost::json::value& each : answer.get_array()) CheckResponse(each, text);
    } else {
      CheckResponse(answer, text);
    }
  }
  boost::system::error_code error;
  boost::json::parse_options options;
  // As deep as polybox reads.
  options.max_depth = json::ParseLimits().depth;
  const boost::json::value sent = boost::json::parse(line, error, {}, options);
  if (error) {
    Check(answers.size() == 1, "what is not JSON is an error", line);
    return;
  }
  const boost::json::object* message = sent.if_object();
  if (message == nullptr || !message->contains("id")) return;
  const boost::json::value& id = message->at("id");
  if (message->contains("method") && (id.is_string() || id.is_int64() || id.is_uint64())) {
    Check(answers.size() == 1 && answer.is_object(), "a request has an answer", line);
    Check(answer.get_object().contains("id") && answer.get_object().at("id") == id,
          "the answer has the id of the request", answers.front());
  }
}

/// A connection whose calls have ended when Receive() returns.
class Peer {
 public:
  Peer()
      : connection_(mcp::Connection::Make(
            {.dispatcher = Dispatcher(),
             .calls = Calls(),
             .context = {.principal = "fuzz"},
             .send = [this](const json::Value& message) { Keep(json::Write(message)); },
             .largest_message = kLongest,
             .largest_batch = kLargestBatch})) {}

  std::vector<std::string> Receive(const mcp::LineReader::Line& line) {
    answers_.clear();
    line.too_long ? connection_->RefuseTooLong() : connection_->Receive(line.text);
    Check(Calls().AwaitIdle(std::chrono::seconds(5)), "every call ends", line.text);
    const std::lock_guard lock(mutex_);
    return answers_;
  }

 private:
  static mcp::CallPool& Calls() {
    static mcp::CallPool calls({.threads = 1});
    return calls;
  }
  void Keep(const std::string& text) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(text);
  }

  std::mutex mutex_;
  std::vector<std::string> answers_;
  std::shared_ptr<mcp::Connection> connection_;
};

void Run(std::string_view text) {
  if (text.empty()) return;
  const auto first = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  Peer peer;
  if (const unsigned version = first % 8; version < kVersions.size()) {
    const std::string hello =
        std::string(
            R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")") +
        kVersions.at(version) + "\"}}";
    peer.Receive({.text = hello});
  }
  const std::size_t cut = text.size() * (first >> 3U) / 31;
  mcp::LineReader lines(kLongest);
  const auto take = [&] {
    while (const auto line = lines.Next()) {
      // The answers come after the line is gone from the reader.
      const std::string kept(line->text);
      const auto answers = peer.Receive({.text = kept, .too_long = line->too_long});
      if (line->too_long) {
        Check(answers.size() == 1, "a line that is too long is an error");
      } else {
        CheckAnswers(kept, answers);
      }
    }
  };
  lines.Add(text.substr(0, cut));
  take();
  lines.Add(text.substr(cut));
  lines.End();
  take();
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

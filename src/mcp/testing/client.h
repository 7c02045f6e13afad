// A client for tests: a connection to the sample tools, and the messages that it sent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "json/write.h"
#include "mcp/connection.h"
#include "tools/testing/sample_tools.h"

namespace polybox::mcp::testing {

inline constexpr std::string_view kModernMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

/// Returns a request of 2026-07-28. `params` are further members: `"name":"echo"`.
inline std::string Modern(int id, std::string_view method, std::string_view params = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{)" + std::string(kModernMeta) + (params.empty() ? "" : ",") +
         std::string(params) + "}}";
}

/// Returns a request without `_meta`.
inline std::string Legacy(int id, std::string_view method, std::string_view params = "") {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{)" + std::string(params) + "}}";
}

/// Sends messages and keeps the answers. The test's thread sends.
class Client {
 public:
  explicit Client(StructuredOutput form = StructuredOutput::kAuto, const CallLimits& limits = {})
      : dispatcher_({.tools = tools::testing::SampleRegistry(),
                     .structured_output = form,
                     .version = "1.2.3",
                     .instructions = "Use the tools."},
                    log::Logger::ToStream(log_, {})),
        calls_(limits),
        connection_(
            Connection::Make({.dispatcher = dispatcher_,
                              .calls = calls_,
                              .context = {.principal = "test"},
                              .send = [this](const json::Value& message) { Keep(message); },
                              .notify = [this](const json::Value& message) { Keep(message); },
                              .largest_message = Bytes(4000),
                              .largest_batch = 4})) {}

  void Send(std::string_view text) { connection_->Receive(text); }
  void Initialize(std::string_view version) {
    Send(Legacy(0, "initialize", R"("protocolVersion":")" + std::string(version) + '"'));
    Take();
  }
  /// Returns the next message, or "" when none comes within ten seconds.
  std::string Take() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::seconds(10), [this] { return !messages_.empty(); });
    if (messages_.empty()) return "";
    std::string first = std::move(messages_.front());
    messages_.erase(messages_.begin());
    return first;
  }
  /// Sends a message and returns the answer.
  std::string Ask(std::string_view text) {
    Send(text);
    return Take();
  }
  /// Returns how many messages have not been taken, after all calls have ended.
  std::size_t CountWhenIdle() {
    calls_.AwaitIdle(std::chrono::seconds(10));
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }
  Connection& connection() { return *connection_; }
  std::string log() const { return log_.str(); }

 private:
  void Keep(const json::Value& message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(json::Write(message));
    arrived_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> messages_;
  std::ostringstream log_;
  Dispatcher dispatcher_;
  CallPool calls_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace polybox::mcp::testing

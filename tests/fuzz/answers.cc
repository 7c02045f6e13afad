#include "fuzz/answers.h"

#include <boost/json.hpp>

#include "fuzz/fuzz.h"

namespace polybox::fuzz {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// "" when there is none.
std::string_view Field(std::string_view head, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string_view::npos) return "";
  head.remove_prefix(at + line.size());
  return head.substr(0, head.find("\r\n"));
}

void CheckJson(std::string_view body) {
  boost::system::error_code error;
  boost::json::parse({body.data(), body.size()}, error);
  Check(!error, "what says it is JSON is JSON: " + error.message(), body);
}

/// The runtime API answers an upload that the file system does not take with a 500.
bool MayFail(const Asked& asked) {
  return asked.status == 505 || asked.path.starts_with("/upload");
}

}  // namespace

void Answers::Take(const Asked& asked) {
  while (rest_.starts_with(kContinue)) rest_.remove_prefix(kContinue.size());
  const std::string_view head = TakeHead();
  Check(head.substr(9, 3) == std::to_string(asked.status), "the answer has the status of the log",
        head);
  Check(asked.status < 500 || MayFail(asked), "no request is a failure of ours", head);
  Check(!Field(head, "X-Request-ID").empty(), "every answer has an id", head);
  std::string body;
  if (asked.method == "HEAD" || asked.status == 204) return;
  if (Field(head, "Transfer-Encoding") == "chunked") {
    body = TakeChunks();
  } else if (const std::string length(Field(head, "Content-Length")); !length.empty()) {
    body = TakeBytes(std::stoul(length));
  } else {
    Check(Field(head, "Connection") == "close", "a body without a length ends the connection",
          head);
    body = TakeBytes(rest_.size());
  }
  if (Field(head, "Content-Type") == "application/json") CheckJson(body);
}

std::string_view Answers::TakeHead() {
  Check(rest_.starts_with("HTTP/1.1 ") || rest_.starts_with("HTTP/1.0 "),
        "an answer begins with its version", rest_);
  const std::size_t end = rest_.find("\r\n\r\n");
  Check(end != std::string_view::npos, "a head has an end", rest_);
  const std::string_view head = rest_.substr(0, end + 2);
  rest_.remove_prefix(end + 4);
  for (std::size_t at = head.find("\r\n") + 2; at < head.size(); at = head.find("\r\n", at) + 2) {
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    Check(line.find(": ") != std::string_view::npos, "a line of a head is a field", head);
    Check(line.find_first_of("\r\n") == std::string_view::npos, "a field is one line", head);
  }
  return head;
}

std::string Answers::TakeChunks() {
  std::string body;
  while (true) {
    const std::size_t size = std::stoul(std::string(TakeLine()), nullptr, 16);
    body += TakeBytes(size);
    Check(TakeLine().empty(), "a chunk ends where it says");
    if (size == 0) return body;
  }
}

std::string_view Answers::TakeBytes(std::size_t count) {
  Check(rest_.size() >= count, "a body is as long as announced", rest_);
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::string_view Answers::TakeLine() {
  const std::size_t end = rest_.find("\r\n");
  Check(end != std::string_view::npos, "a line has an end", rest_);
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end + 2);
  return line;
}

}  // namespace polybox::fuzz

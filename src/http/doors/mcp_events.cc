#include "http/doors/mcp_events.h"

#include <utility>

#include "json/write.h"

namespace polybox::http {

Response EventStreamHead() {
  return {.status = 200,
          .content_type = "text/event-stream",
          .body = "",
          // Proxies must pass each event on at once.
          .headers = {{"Cache-Control", "no-cache, no-store"}, {"X-Accel-Buffering", "no"}},
          .answer_end = AnswerEnd::kClient};
}

void WriteMessageEvent(Exchange& exchange, const json::Value& message) {
  exchange.Write("event: message\ndata: " + json::Write(message) + "\n\n");
}

MessageStream::MessageStream(std::shared_ptr<Exchange> exchange, std::string_view first)
    : exchange_(std::move(exchange)) {
  exchange_->Begin(EventStreamHead());
  exchange_->Write(first);
}

MessageStream::~MessageStream() {
  exchange_->End();
}

void MessageStream::Send(const json::Value& message) {
  const std::lock_guard lock(mutex_);
  WriteMessageEvent(*exchange_, message);
}

}  // namespace polybox::http

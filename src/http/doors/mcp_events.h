// An answer of MCP as a stream of events: the head, and messages as events. Any thread may call the
// functions; events never mix.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "http/exchange.h"
#include "json/value.h"

namespace polybox::http {

/// Returns the head of a stream that only the client ends.
Response EventStreamHead();
/// Writes a message as an event. The caller sees to it that events do not mix.
void WriteMessageEvent(Exchange& exchange, const json::Value& message);

/// A stream that the client has opened for what belongs to no request. Holds the exchange until
/// Close().
class MessageStream {
 public:
  /// Begins the answer. `first` is written before all messages.
  MessageStream(std::shared_ptr<Exchange> exchange, std::string_view first);
  ~MessageStream();
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  void Send(const json::Value& message);

 private:
  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace polybox::http

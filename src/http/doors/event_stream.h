// The answer to POST /execute with `Accept: text/event-stream`: first output as it arrives, then
// the result.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "exec/request.h"
#include "http/exchange.h"

namespace polybox::http {

/// Any thread may call these functions. The answer starts with the first event, so an earlier
/// refusal still has its own status.
class EventStream {
 public:
  /// `limit` is how many bytes of each stream are sent. The client gets an event when a stream
  /// reaches the limit.
  EventStream(std::shared_ptr<Exchange> exchange, std::size_t limit)
      : exchange_(std::move(exchange)), limit_(limit) {}

  /// Sends what the request waits for. The stage "running" is sent only if another stage was sent
  /// before.
  void Progress(exec::Stage stage);
  void Output(exec::StepKind step, exec::Stream stream, std::string_view bytes);
  /// Sends the output that is left, then the result. `result` is JSON on one line.
  void Finish(std::string_view result);
  /// Sends a refusal: as a normal answer, or as an event if the stream has begun.
  void Refuse(Response response);

 private:
  struct Channel {
    /// The first bytes of a character whose other bytes have not arrived.
    std::string pending;
    std::size_t sent = 0;
    bool cut = false;
  };

  Channel& ChannelOf(exec::StepKind step, exec::Stream stream);
  void Begin();
  void Send(std::string_view event, std::string_view json);
  void SendData(exec::StepKind step, exec::Stream stream, std::string_view text);
  void Flush(exec::StepKind step, exec::Stream stream);

  // Guards all members below; held during each call of the exchange, so events never mix.
  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
  std::size_t limit_;
  bool begun_ = false;
  /// Whether a "progress" event has been sent.
  bool waited_ = false;
  std::array<Channel, 4> channels_;
};

/// Returns the name of a stage in events.
std::string_view StageName(exec::Stage stage);

/// Returns the number of bytes of `text` without an incomplete character at its end.
std::size_t WholeCharacters(std::string_view text);

}  // namespace polybox::http

// The answer to POST /execute with `Accept: text/event-stream`: output as it comes, then the
// result.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "exec/request.h"
#include "http/exchange.h"

namespace polybox::http {

/// Any thread. The answer begins with the first output or with the result, so that a refusal that
/// comes before either still has its own status.
class EventStream {
 public:
  /// `limit`: how much of each stream is passed on; the client hears when it is reached.
  EventStream(std::shared_ptr<Exchange> exchange, std::size_t limit)
      : exchange_(std::move(exchange)), limit_(limit) {}

  void Output(exec::StepKind step, exec::Stream stream, std::string_view bytes);
  /// `result` is JSON on one line.
  void Finish(std::string_view result);
  void Refuse(Response response);

 private:
  struct Channel {
    /// The start of a character whose rest has not come yet.
    std::string pending;
    std::size_t sent = 0;
    bool cut = false;
  };

  Channel& ChannelOf(exec::StepKind step, exec::Stream stream);
  void Begin();
  void Send(std::string_view event, std::string_view json);
  void SendData(exec::StepKind step, exec::Stream stream, std::string_view text);
  void Flush(exec::StepKind step, exec::Stream stream);

  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
  std::size_t limit_;
  bool begun_ = false;
  std::array<Channel, 4> channels_;
};

/// How much of `text` is whole characters: less than all when it ends in the start of one.
std::size_t WholeCharacters(std::string_view text);

}  // namespace polybox::http

// The answer to one request on its way from a door, which may give it on any thread and at any
// time, to the connection, which may be gone by then. Knows no socket: it wakes the connection by a
// function that the connection takes back before it ends.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace polybox::http {

class Reply {
 public:
  /// What has come in since the last look.
  struct News {
    /// The head of the answer, once.
    std::optional<Response> head;
    /// The head is that of a body that comes in parts.
    bool in_parts = false;
    std::string part;
    /// Nothing more will come.
    bool complete = false;
    /// The door let go of the exchange without a complete answer.
    bool abandoned = false;
    /// More parts are waiting than we hold for a client that does not read them.
    bool overflowed = false;
  };

  /// `wake` is called with a lock held: it must only post. `most_waiting` bounds the bytes of parts
  /// that the connection has not taken yet.
  Reply(std::function<void()> wake, std::size_t most_waiting)
      : wake_(std::move(wake)), most_waiting_(most_waiting) {}

  // The door's side: any thread, and harmless after the end of the connection.
  void Respond(Response response);
  void Begin(Response head);
  void Write(std::string_view part);
  void End();
  void OnDisconnect(std::function<void()> gone);
  void Abandon();

  // The connection's side.
  News Take();
  /// The client has gone: tells the door, unless the answer is complete.
  void Disconnect();
  /// After this `wake` is not called any more.
  void Detach();

 private:
  enum class State { kOpen, kInParts, kComplete, kGone };

  void Wake();
  void Finish();

  std::mutex mutex_;
  std::function<void()> wake_;
  std::size_t most_waiting_;
  State state_ = State::kOpen;
  News news_;
  std::function<void()> gone_;
};

}  // namespace polybox::http

// Carries the answer to one request from a door to the connection. The door may answer on any
// thread and at any time, even after the connection has ended. A Reply has no socket: it calls a
// function to wake the connection, which takes that function back before it ends.
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
  /// What the door has added since the last Take().
  struct News {
    /// The head of the answer; set in only one News.
    std::optional<Response> head;
    /// The body comes in parts.
    bool in_parts = false;
    std::string part;
    /// The answer is complete.
    bool complete = false;
    /// The door released the exchange without a complete answer.
    bool abandoned = false;
    /// More bytes are waiting than the server keeps for a client that does not read them.
    bool overflowed = false;
  };

  /// `wake` is called while mutex_ is held, so it must only post to another thread. `most_waiting`
  /// is the largest number of bytes of parts that the connection has not taken yet.
  Reply(std::function<void()> wake, std::size_t most_waiting)
      : wake_(std::move(wake)), most_waiting_(most_waiting) {}

  // For the door. Any thread may call these functions, also after the end of the connection.
  void Respond(Response response);
  void Begin(Response head);
  void Write(std::string_view part);
  void End();
  void OnDisconnect(std::function<void()> gone);
  void Note(RunNote note);
  void Abandon();

  // For the connection. Take() returns and clears what the door has added.
  News Take();
  /// The last note of the door.
  RunNote note();
  /// Tells the door that the client has gone, unless the answer is complete.
  void Disconnect();
  /// After this call `wake` is never called again.
  void Detach();

 private:
  enum class State { kOpen, kInParts, kComplete, kGone };

  void Wake();
  void Finish();

  // Guards all members below.
  std::mutex mutex_;
  std::function<void()> wake_;
  std::size_t most_waiting_;
  State state_ = State::kOpen;
  News news_;
  RunNote note_;
  std::function<void()> gone_;
};

}  // namespace polybox::http

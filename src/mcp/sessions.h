// The sessions of older clients over HTTP: conversations that last longer than a request. A session
// belongs to its principal: for all others it does not exist. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "mcp/conversation.h"

namespace polybox::mcp {

struct SessionLimits {
  /// Sessions of one principal. Clients begin one for each window and often never end it.
  std::size_t of_principal = 128;
  std::size_t in_all = 1024;
  /// A session that was not used for this time gives way to a new one.
  Duration idle = std::chrono::hours(24);
};

struct Session {
  std::string id;
  std::string principal;
  std::shared_ptr<Conversation> conversation = {};
};

class Sessions {
 public:
  explicit Sessions(SessionLimits limits = {}) : limits_(limits) {}
  /// Ends all sessions.
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  /// Begins a session. Beyond the limits, the session of the same principal that was used longest
  /// ago ends, unless it has a stream. Returns null if there is none such. `settled` is the version
  /// of requests before `initialize`; nothing if there may be none.
  std::shared_ptr<Session> Begin(const std::string& principal, std::optional<Version> settled = {});
  /// Returns null if this principal has no such session.
  std::shared_ptr<Session> Find(std::string_view principal, std::string_view id);
  /// Ends the session and cancels its calls. Returns false if there is none.
  bool End(std::string_view principal, std::string_view id);

 private:
  struct Held {
    std::shared_ptr<Session> session;
    std::chrono::steady_clock::time_point used;
  };
  using List = std::list<Held>;

  // All need the lock.
  List::iterator Search(std::string_view principal, std::string_view id);
  /// Moves sessions that must give way to `ended`. Returns whether there is room for a new one.
  bool MakeRoom(const std::string& principal, List& ended);

  const SessionLimits limits_;
  std::mutex mutex_;
  /// Guarded by `mutex_`. The one that was used longest ago is first.
  List sessions_;
};

}  // namespace polybox::mcp

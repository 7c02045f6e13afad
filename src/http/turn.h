// The state of one request in a connection (connection.cc), and the object through which its door
// answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/body_memory.h"
#include "http/exchange.h"
#include "http/reply.h"
#include "http/router.h"

namespace polybox::http {

/// The Exchange that a door gets. The connection holds only the Reply. When the last owner of this
/// object releases it, the destructor tells the Reply that no answer will come.
class DoorExchange : public Exchange {
 public:
  DoorExchange(Request request, BodyMemory::Share share, std::shared_ptr<Reply> reply)
      : share_(std::move(share)), request_(std::move(request)), reply_(std::move(reply)) {}
  ~DoorExchange() override { reply_->Abandon(); }
  DoorExchange(const DoorExchange&) = delete;
  DoorExchange& operator=(const DoorExchange&) = delete;

  const Request& request() const override { return request_; }
  void Respond(Response response) override { reply_->Respond(std::move(response)); }
  void Begin(Response head) override { reply_->Begin(std::move(head)); }
  void Write(std::string_view part) override { reply_->Write(part); }
  void End() override { reply_->End(); }
  void OnDisconnect(std::function<void()> gone) override { reply_->OnDisconnect(std::move(gone)); }
  void Note(RunNote note) override { reply_->Note(std::move(note)); }

 private:
  /// The memory of the request's body. Declared first, so that it is given back after the body is
  /// destroyed.
  BodyMemory::Share share_;
  Request request_;
  std::shared_ptr<Reply> reply_;
};

constexpr int kClientGone = 499;  // nginx's status; it appears only in the log
constexpr int kTooSlow = 408;     // appears only in the log

/// A request while the connection serves it. Only the connection's strand uses it, so it needs no
/// lock.
struct Turn {
  BodyMemory::Share share;
  Request request = {};
  Match match = {};
  /// Header fields of the answer for a page of another origin.
  Headers page_fields = {};
  std::chrono::steady_clock::time_point began;
  unsigned version = 11;
  bool keep_alive = true;
  /// True if the client may still be sending a body that the server does not read.
  bool unread = false;
  int status = 0;
  /// A text to send with the status when the request cannot be parsed. Contains nothing of the
  /// request.
  std::string why = {};
  /// The reason when the server itself refused the request.
  std::optional<Fault> fault = {};
  RunNote note = {};
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

/// Returns how the request ended, for the log.
std::string_view OutcomeOf(const Turn& turn);
/// Returns whether a server that drains refuses the request, because the request would start or
/// write something, or has an answer without an end. Clients still fetch results. The turn has a
/// route.
bool StartsSomething(const Turn& turn);
/// Returns the level of the request's log line.
log::Level LevelOf(const Turn& turn);

}  // namespace polybox::http

#include "http/reply.h"

#include <utility>

namespace polybox::http {

// The caller holds mutex_.
void Reply::Wake() {
  if (wake_) wake_();
}

/// Marks the answer as complete and wakes the connection. The caller holds mutex_.
void Reply::Finish() {
  state_ = State::kComplete;
  news_.complete = true;
  Wake();
}

void Reply::Respond(Response response) {
  std::function<void()> unneeded;  // destroyed after the lock is released: it may hold the exchange
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return;
  unneeded.swap(gone_);
  news_.head = std::move(response);
  Finish();
}

void Reply::Begin(Response head) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return;
  state_ = State::kInParts;
  news_.head = std::move(head);
  news_.in_parts = true;
  Wake();
}

void Reply::Write(std::string_view part) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kInParts || part.empty()) return;
  // Waiting for a slow client would block a thread of the engine, so the client is disconnected
  // instead.
  if (news_.part.size() + part.size() > most_waiting_) {
    news_.overflowed = true;
  } else {
    news_.part += part;
  }
  Wake();
}

void Reply::End() {
  std::function<void()> unneeded;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kInParts) return;
  unneeded.swap(gone_);
  Finish();
}

void Reply::OnDisconnect(std::function<void()> gone) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kComplete) return;
    if (state_ != State::kGone) {
      gone_ = std::move(gone);
      return;
    }
  }
  gone();
}

void Reply::Note(RunNote note) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(note);
}

RunNote Reply::note() {
  const std::lock_guard lock(mutex_);
  return note_;
}

void Reply::Abandon() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen && state_ != State::kInParts) return;
  news_.abandoned = true;
  Finish();
}

Reply::News Reply::Take() {
  const std::lock_guard lock(mutex_);
  News taken = std::exchange(news_, News{});
  // These flags stay true once set.
  news_.in_parts = taken.in_parts;
  news_.complete = taken.complete;
  news_.abandoned = taken.abandoned;
  news_.overflowed = taken.overflowed;
  return taken;
}

void Reply::Disconnect() {
  std::function<void()> gone;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kComplete || state_ == State::kGone) return;
    state_ = State::kGone;
    gone.swap(gone_);
  }
  if (gone) gone();
}

void Reply::Detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

}  // namespace polybox::http

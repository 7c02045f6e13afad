#include "mcp/sessions.h"

#include <algorithm>
#include <iterator>

#include "base/uuid.h"

namespace polybox::mcp {
namespace {

void EndConversation(Conversation& conversation) {
  conversation.CancelAll(nullptr);
  conversation.CloseStream();
}

}  // namespace

Sessions::~Sessions() {
  for (const Held& held : sessions_) EndConversation(*held.session->conversation);
}

bool Sessions::MakeRoom(const std::string& principal, List& ended) {
  const auto now = std::chrono::steady_clock::now();
  const auto end = [&](List::iterator which) { ended.splice(ended.end(), sessions_, which); };
  while (!sessions_.empty() && now - sessions_.front().used > limits_.idle &&
         !sessions_.front().session->conversation->has_stream()) {
    end(sessions_.begin());
  }
  const auto is_own = [&](const Held& held) { return held.session->principal == principal; };
  const auto own = static_cast<std::size_t>(std::ranges::count_if(sessions_, is_own));
  if (own < limits_.of_principal && sessions_.size() < limits_.in_all) return true;
  const auto oldest = std::ranges::find_if(sessions_, [&](const Held& held) {
    return is_own(held) && !held.session->conversation->has_stream();
  });
  if (oldest == sessions_.end()) return false;
  end(oldest);
  return true;
}

std::shared_ptr<Session> Sessions::Begin(const std::string& principal,
                                         std::optional<Version> settled) {
  List ended;
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    if (MakeRoom(principal, ended)) {
      session = std::make_shared<Session>(
          Session{.id = NewUuid(),
                  .principal = principal,
                  .conversation = std::make_shared<Conversation>(settled)});
      sessions_.push_back({session, std::chrono::steady_clock::now()});
    }
  }
  for (const Held& held : ended) EndConversation(*held.session->conversation);
  return session;
}

Sessions::List::iterator Sessions::Search(std::string_view principal, std::string_view id) {
  return std::ranges::find_if(sessions_, [&](const Held& held) {
    return held.session->id == id && held.session->principal == principal;
  });
}

std::shared_ptr<Session> Sessions::Find(std::string_view principal, std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = Search(principal, id);
  if (found == sessions_.end()) return nullptr;
  found->used = std::chrono::steady_clock::now();
  sessions_.splice(sessions_.end(), sessions_, found);
  return found->session;
}

bool Sessions::End(std::string_view principal, std::string_view id) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = Search(principal, id);
    if (found == sessions_.end()) return false;
    session = std::move(found->session);
    sessions_.erase(found);
  }
  EndConversation(*session->conversation);
  return true;
}

}  // namespace polybox::mcp

#include "exec/admission.h"

#include <algorithm>

namespace polybox::exec {

Admission::Admission(std::vector<Lane> lanes)
    : lanes_(std::move(lanes)), loads_(lanes_.size()), clients_(lanes_.size()) {}

bool Admission::Idle() const {
  return std::ranges::all_of(
      loads_, [](const LaneLoad& load) { return load.running == 0 && load.queued == 0; });
}

bool Admission::Offer(Id id, std::size_t lane, const std::string& client, Time until) {
  LaneLoad& load = loads_[lane];
  // A queued request counts only if no place is free for it. For the other queued requests a worker
  // thread is on its way.
  const std::int64_t without_place = load.running + load.queued - lanes_[lane].concurrency;
  if (without_place >= lanes_[lane].queue) return false;
  Clients& clients = clients_[lane];
  auto found = std::ranges::find(clients, client, &Client::name);
  if (found == clients.end()) found = clients.insert(clients.end(), {client, {}});
  found->waiting.push_back({id, until});
  ++load.queued;
  return true;
}

std::optional<Admission::Id> Admission::Next() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::size_t lane = (first_lane_ + i) % lanes_.size();
    LaneLoad& load = loads_[lane];
    if (load.queued == 0 || load.running >= lanes_[lane].concurrency) continue;
    // The next call begins with the lane after this one.
    first_lane_ = lane + 1;
    Clients& clients = clients_[lane];
    Client client = std::move(clients.front());
    clients.pop_front();
    const Id id = client.waiting.front().id;
    client.waiting.pop_front();
    // A client with more requests goes to the end of the line; one without is forgotten.
    if (!client.waiting.empty()) clients.push_back(std::move(client));
    --load.queued;
    ++load.running;
    return id;
  }
  return std::nullopt;
}

void Admission::FreePlace(std::size_t lane) {
  --loads_[lane].running;
}

bool Admission::Remove(Id id) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    Clients& clients = clients_[lane];
    for (auto client = clients.begin(); client != clients.end(); ++client) {
      const auto found = std::ranges::find(client->waiting, id, &Waiting::id);
      if (found == client->waiting.end()) continue;
      client->waiting.erase(found);
      if (client->waiting.empty()) clients.erase(client);
      --loads_[lane].queued;
      return true;
    }
  }
  return false;
}

std::vector<Admission::Id> Admission::Expired(Time now) {
  std::vector<Id> expired;
  for (const Clients& clients : clients_) {
    for (const Client& client : clients) {
      for (const Waiting& waiting : client.waiting) {
        if (waiting.until <= now) expired.push_back(waiting.id);
      }
    }
  }
  for (const Id id : expired) Remove(id);
  return expired;
}

std::optional<Admission::Time> Admission::NextExpiry() const {
  std::optional<Time> next;
  for (const Clients& clients : clients_) {
    for (const Client& client : clients) {
      for (const Waiting& waiting : client.waiting) {
        if (!next || waiting.until < *next) next = waiting.until;
      }
    }
  }
  return next;
}

}  // namespace polybox::exec

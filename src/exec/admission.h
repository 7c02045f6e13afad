// Decides which request runs next. Requests wait in lanes, one for each door. The clients of a lane
// take turns, so that fifty requests of one client do not delay the single request of another. The
// class knows only ids, not the requests. Not thread-safe: the engine calls it with its mutex held.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/engine.h"

namespace polybox::exec {

class Admission {
 public:
  /// The id of a request, chosen by the caller. No two requests have the same id.
  using Id = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  explicit Admission(std::vector<Lane> lanes);

  const std::vector<Lane>& lanes() const { return lanes_; }
  LaneLoad Load(std::size_t lane) const { return loads_[lane]; }
  /// Returns whether no request runs or waits.
  bool Idle() const;

  /// Adds a request to the queue of its lane until `until`. Returns false if the request must be
  /// refused because neither a place nor room in the queue is free.
  bool Offer(Id id, std::size_t lane, const std::string& client, Time until);
  /// Removes the next request that may run from its queue, and counts it as running. Returns
  /// nothing if none may run.
  std::optional<Id> Next();
  /// Gives back the place of a request that Next() returned and that has ended.
  void FreePlace(std::size_t lane);
  /// Removes a waiting request. Returns false if it does not wait (any more).
  bool Remove(Id id);
  /// Removes the requests whose time limit has passed, and returns their ids.
  std::vector<Id> Expired(Time now);
  /// Returns the earliest time limit of all waiting requests.
  std::optional<Time> NextExpiry() const;

 private:
  struct Waiting {
    Id id = 0;
    Time until;
  };
  struct Client {
    std::string name;
    std::deque<Waiting> waiting;
  };
  /// The clients of one lane with waiting requests, in the order of their turns.
  using Clients = std::deque<Client>;

  std::vector<Lane> lanes_;
  std::vector<LaneLoad> loads_;
  std::vector<Clients> clients_;
  /// The lane that Next() looks at first: lanes take turns as well.
  std::size_t first_lane_ = 0;
};

}  // namespace polybox::exec

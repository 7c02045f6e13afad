// Who is next: requests wait in lanes (one per front door), and in a lane the clients take turns,
// so that fifty requests of one do not hold up the only one of another. Knows nothing of what
// waits. One thread at a time.
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
  using Id = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  explicit Admission(std::vector<Lane> lanes);

  const std::vector<Lane>& lanes() const { return lanes_; }
  LaneLoad Load(std::size_t lane) const { return loads_[lane]; }
  /// Nobody runs and nobody waits.
  bool Idle() const;

  /// False when it has to be refused: neither a place nor room to wait.
  bool Offer(Id id, std::size_t lane, const std::string& client, Time until);
  /// The next that may run; it counts as running from here on.
  std::optional<Id> Next();
  /// A request that Next() gave has ended.
  void Ended(std::size_t lane);
  /// False when it does not wait (any more).
  bool Remove(Id id);
  /// Takes out those that have waited too long.
  std::vector<Id> Expired(Time now);
  /// When the next one will have.
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
  /// In the order of their turns.
  using Clients = std::deque<Client>;

  std::vector<Lane> lanes_;
  std::vector<LaneLoad> loads_;
  std::vector<Clients> clients_;
  /// Lanes take turns too.
  std::size_t first_lane_ = 0;
};

}  // namespace polybox::exec

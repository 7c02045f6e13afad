// Resolves names on threads of its own, so that the caller can stop waiting although getaddrinfo()
// cannot be cancelled. A slow name server of one guest therefore never blocks the end of that
// guest. Any thread may call it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "net/address.h"
#include "net/connect.h"

namespace polybox::net {

class NameResolver {
 public:
  /// Returns the addresses of a name; empty when there are none. The function may still run after
  /// the NameResolver is gone, so it must not refer to objects that may end earlier.
  using Lookup = std::function<std::vector<Address>(const HostPort&)>;

  /// Identifies a client; the lookups of one client are limited together.
  enum class Asker : std::uint64_t {};
  /// Returns an unused Asker. Never reuse one: lookups continue after their client has gone, and
  /// must not count against another client.
  static Asker NewAsker();

  struct Limits {
    /// Simultaneous lookups.
    std::size_t lookups = 32;
    /// Simultaneous lookups of one Asker. A guest with slow names can therefore not delay other
    /// guests.
    std::size_t per_asker = 4;
  };

  explicit NameResolver(Lookup lookup = Resolve);
  NameResolver(Lookup lookup, Limits limits);
  NameResolver(const NameResolver&) = delete;
  NameResolver& operator=(const NameResolver&) = delete;
  ~NameResolver();

  /// Returns the addresses of `target`. Blocks. Returns nothing also when the deadline passes or
  /// `patience.stop` becomes readable.
  std::vector<Address> Find(const HostPort& target, Asker asker, const Patience& patience);

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace polybox::net

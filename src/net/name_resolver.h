// Looks names up on threads of its own, so that whoever asked can stop waiting: getaddrinfo()
// cannot be told to end. So a guest that is gone holds nobody up, however slowly its last name is
// answered. Any thread.
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
  /// The addresses of a name; empty when there are none. Must not refer to anything that could be
  /// gone before it returns: nobody waits for it.
  using Lookup = std::function<std::vector<Address>(const HostPort&)>;

  /// Whose lookups are counted together.
  enum class Asker : std::uint64_t {};
  /// One that was never there before: lookups go on when whoever asked is gone, and must not be
  /// counted against another.
  static Asker NewAsker();

  struct Limits {
    /// Lookups at once.
    std::size_t lookups = 32;
    /// Of one asker: whoever owns slow names holds up nobody else with a few of them.
    std::size_t per_asker = 4;
  };

  explicit NameResolver(Lookup lookup = Resolve);
  NameResolver(Lookup lookup, Limits limits);
  NameResolver(const NameResolver&) = delete;
  NameResolver& operator=(const NameResolver&) = delete;
  ~NameResolver();

  /// Blocks. Empty also when the time is up or someone says stop.
  std::vector<Address> Find(const HostPort& target, Asker asker, const Patience& patience);

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace polybox::net

// Numbers that distinguish the servers of a host, for ids that no two servers may share. PIDs do
// not distinguish servers: two servers can both be PID 1 of their containers.
#pragma once

#include "base/unique_fd.h"

namespace polybox::sys {

class ServerNumber {
 public:
  /// Takes a number below `count` that no other server of this network namespace has while this
  /// object lives. The number is chosen at random, because servers in different containers share
  /// neither files nor sockets. If no free number is found, another server may have the same
  /// number.
  explicit ServerNumber(unsigned count);

  unsigned value() const { return value_; }

 private:
  unsigned value_ = 0;
  /// An abstract socket whose name contains the number. The kernel lets only one socket have a
  /// name, and frees the name however the process ends.
  UniqueFd claim_;
};

}  // namespace polybox::sys

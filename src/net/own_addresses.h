// The addresses of the machine itself. Any thread.
#pragma once

#include "net/address.h"

namespace polybox::net {

/// Whether an interface of the network that the caller is in has this address. What listens there
/// may trust that only its neighbours can come, however public the address is. Loopback does not
/// count: its own addresses are not public, and others are put there to be reached (anycast). True
/// when it cannot be found out.
bool IsOwn(const Address& address);

}  // namespace polybox::net

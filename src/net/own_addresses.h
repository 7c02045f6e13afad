// The addresses of the machine itself. Any thread may call this function.
#pragma once

#include "net/address.h"

namespace polybox::net {

/// Returns whether an interface in the caller's network namespace has this address. A service on
/// such an address may trust all clients, because only neighbours can reach it, even if the address
/// is public. Loopback interfaces are ignored: loopback addresses are not public, and other
/// addresses on them (anycast) are meant to be reached. Returns true when the interfaces cannot be
/// read.
bool IsOwn(const Address& address);

}  // namespace polybox::net

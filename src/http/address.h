// Checks the addresses on which the server listens, such as "127.0.0.1:8080", "[::1]:8080" or
// "localhost:0". Any thread may call these functions.
#pragma once

#include <string>

#include "base/result.h"
#include "net/address.h"

namespace polybox::http {

/// Splits "HOST:PORT" (net::SplitHostPort), or returns an error that names the address.
Result<net::HostPortText> SplitAddress(const std::string& address);

/// Returns whether only this machine can reach the address: all addresses of the host name are
/// loopback addresses. Returns an error when the host name cannot be resolved. May block on DNS.
Result<bool> IsLoopback(const std::string& address);

}  // namespace polybox::http

// Parses the one kind of request that the egress proxy answers: CONNECT with a host and a port. The
// text comes from a guest. A pure function.
#pragma once

#include <string_view>
#include <variant>

#include "net/address.h"

namespace polybox::net {

enum class ConnectProblem {
  kNotConnect,  ///< A request with another method.
  kMalformed,   ///< Not HTTP/1, or the target is not a host and a port.
};

/// `head` is a complete request head, with its final empty line. Returns the target, or why the
/// request is refused.
std::variant<HostPort, ConnectProblem> ReadConnectRequest(std::string_view head);

}  // namespace polybox::net

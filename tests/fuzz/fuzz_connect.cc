// The request of a guest to the egress proxy. Whatever bytes come, the proxy reads either nothing
// or one host that a resolver and a log line can take, and a port.
#include <variant>

#include <fmt/format.h>

#include "fuzz/fuzz.h"
#include "net/connect_request.h"

namespace {

using polybox::fuzz::Check;
using polybox::net::HostPort;

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view(".-_:").find(c) != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto request = polybox::net::ReadConnectRequest(polybox::fuzz::ToText(data, size));
  const auto* target = std::get_if<HostPort>(&request);
  if (target == nullptr) return 0;
  Check(!target->host.empty() && target->port != 0, "a target has a host and a port");
  for (const char c : target->host)
    Check(IsPlain(c), "a host has only plain characters", target->host);
  const bool is_v6 = target->host.find(':') != std::string::npos;
  const std::string again = fmt::format(
      fmt::runtime(is_v6 ? "CONNECT [{}]:{} HTTP/1.1\r\n\r\n" : "CONNECT {}:{} HTTP/1.1\r\n\r\n"),
      target->host, target->port);
  const auto reread = polybox::net::ReadConnectRequest(again);
  const auto* same = std::get_if<HostPort>(&reread);
  Check(same != nullptr && same->host == target->host && same->port == target->port,
        "the target is read from its own spelling", again);
  return 0;
}

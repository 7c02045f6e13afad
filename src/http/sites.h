// Decides which web pages may send requests to this server. A page in a user's browser can send
// some requests to any address that the browser reaches. A page can also let its own host name
// point to this machine (DNS rebinding). The connection checks each request here before a door sees
// it. Immutable, so any thread may use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/exchange.h"
#include "net/site.h"

namespace polybox::http {

/// How a connection reached the server.
struct Arrival {
  /// The client's name when it sends no token.
  std::string client;
  /// The listener has a loopback address, so the client is on this machine.
  bool on_loopback = false;
};

class Sites {
 public:
  /// Allows only the loopback host names, and only the server's own origin.
  Sites() = default;
  /// Takes the entries of the settings `allowed-hosts` and `allowed-origins`.
  static Result<Sites> Make(const std::vector<std::string>& hosts,
                            const std::vector<std::string>& origins);

  /// Returns kForeignHost or kForeignOrigin for a request that must be refused, else nothing. A
  /// request without a Host header passes if `may_lack_host`: only HTTP/1.0 allows that, and no
  /// browser uses it.
  std::optional<Fault> Check(const Request& request, const Arrival& arrival,
                             bool may_lack_host) const;

  /// Returns the header fields that let a page of an allowed origin read the answer.
  Headers AnswerFields(const Request& request) const;
  /// Returns the answer to a preflight request of an allowed origin; nothing for any other request.
  /// A preflight brings no token. `methods` are the methods of the path.
  std::optional<Response> Preflight(const Request& request, const std::string& methods) const;

 private:
  bool AllowsHost(std::string_view text, const Arrival& arrival) const;
  bool AllowsOrigin(std::string_view origin) const;

  std::vector<net::HostRule> hosts_;
  /// In the spelling of net::ParseOrigin().
  std::vector<std::string> origins_;
};

/// Returns a text for the client that says what is wrong and which setting allows the request.
std::string SiteComplaint(Fault fault, const Request& request);

}  // namespace polybox::http

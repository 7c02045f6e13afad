#include "http/sites.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::http {
namespace {

// A browser's Origin is as long as the start of a URL, and its Host as long as a name.
constexpr std::size_t kMostShown = 120;

std::size_t Count(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.headers, [&](const auto& header) { return SameName(header.first, name); }));
}

std::string Quoted(std::string_view text) {
  return '"' + Printable(text, kMostShown) + '"';
}

/// Returns the authority of "http://host/path", nothing for a target that is a path.
std::optional<std::string_view> AuthorityOfTarget(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return std::nullopt;
  const std::string_view rest = target.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?#"));
}

/// Returns whether a browser says that the page itself or the user made the request.
bool IsOwnFetch(const Request& request) {
  return std::ranges::all_of(request.headers, [](const auto& header) {
    return !SameName(header.first, "Sec-Fetch-Site") || header.second == "same-origin" ||
           header.second == "none";
  });
}

}  // namespace

Result<Sites> Sites::Make(const std::vector<std::string>& hosts,
                          const std::vector<std::string>& origins) {
  Sites sites;
  for (const std::string& entry : hosts) {
    const auto rule = net::ParseHostRule(entry);
    if (!rule) return Error(ErrorKind::kInvalid, net::ComplaintAboutHost(entry));
    sites.hosts_.push_back(*rule);
  }
  for (const std::string& entry : origins) {
    const auto origin = net::ParseOrigin(entry);
    if (!origin) return Error(ErrorKind::kInvalid, net::ComplaintAboutOrigin(entry));
    sites.origins_.push_back(*origin);
  }
  return sites;
}

bool Sites::AllowsHost(std::string_view text, const Arrival& arrival) const {
  if (!arrival.on_loopback && hosts_.empty()) return true;
  const auto host = net::ParseHostHeader(text);
  if (!host) return false;
  // No attacker's page can have such a host: nobody can make a loopback name point to another
  // machine.
  if (net::IsLoopbackHost(*host)) return true;
  return std::ranges::any_of(hosts_, [&](const net::HostRule& rule) { return rule.IsFor(*host); });
}

bool Sites::AllowsOrigin(std::string_view origin) const {
  const auto parsed = net::ParseOrigin(origin);
  return parsed && std::ranges::count(origins_, *parsed) != 0;
}

std::optional<Fault> Sites::Check(const Request& request, const Arrival& arrival,
                                  bool may_lack_host) const {
  const std::string_view host = request.Header("Host");
  const std::size_t hosts = Count(request, "Host");
  const bool checks_host = arrival.on_loopback || !hosts_.empty();
  if (hosts > 1 || (hosts == 0 && checks_host && !may_lack_host)) return Fault::kForeignHost;
  if (hosts == 1 && !AllowsHost(host, arrival)) return Fault::kForeignHost;
  const auto authority = AuthorityOfTarget(request.target);
  if (authority && !AllowsHost(*authority, arrival)) return Fault::kForeignHost;
  const std::size_t origins = Count(request, "Origin");
  if (origins == 0)
    return IsOwnFetch(request) ? std::nullopt : std::optional(Fault::kForeignOrigin);
  const std::string_view origin = request.Header("Origin");
  if (origins > 1) return Fault::kForeignOrigin;
  if (AllowsOrigin(origin)) return std::nullopt;
  const auto own = net::ParseOrigin(fmt::format("http://{}", host));
  const bool is_own = own && own == net::ParseOrigin(origin);
  return is_own && IsOwnFetch(request) ? std::nullopt : std::optional(Fault::kForeignOrigin);
}

Headers Sites::AnswerFields(const Request& request) const {
  if (origins_.empty()) return {};
  const std::string_view origin = request.Header("Origin");
  // Tells caches not to give one page the answer to another page.
  Headers fields = {{"Vary", "Origin"}};
  if (!AllowsOrigin(origin)) return fields;
  fields.emplace_back("Access-Control-Allow-Origin", origin);
  fields.emplace_back("Cross-Origin-Resource-Policy", "cross-origin");
  fields.emplace_back("Access-Control-Expose-Headers",
                      "Allow, Content-Disposition, Retry-After, WWW-Authenticate, X-Request-ID, "
                      "X-Polybox-Isolation");
  return fields;
}

std::optional<Response> Sites::Preflight(const Request& request, const std::string& methods) const {
  const bool is_preflight =
      request.method == "OPTIONS" && Count(request, "Access-Control-Request-Method") == 1;
  if (!is_preflight || !AllowsOrigin(request.Header("Origin"))) return std::nullopt;
  Response response{.status = 204, .content_type = "", .body = "", .headers = {}};
  response.headers.emplace_back("Access-Control-Allow-Methods", methods);
  // An allowed page may send the same headers as any other client.
  const std::string_view wanted = request.Header("Access-Control-Request-Headers");
  if (!wanted.empty()) response.headers.emplace_back("Access-Control-Allow-Headers", wanted);
  if (request.Header("Access-Control-Request-Private-Network") == "true") {
    response.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  // The seconds after which a browser sends a new preflight.
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

std::string SiteComplaint(Fault fault, const Request& request) {
  if (fault == Fault::kForeignHost) {
    if (Count(request, "Host") == 0) {
      return "a Host header is needed here: a loopback name, or one that the server's setting "
             "allowed-hosts lists";
    }
    return fmt::format(
        "Host {} is refused: it is neither a loopback name nor listed in the server's setting "
        "allowed-hosts",
        Quoted(request.Header("Host")));
  }
  if (Count(request, "Origin") > 0) {
    return fmt::format(
        "Origin {} is refused: it is neither the server's own nor listed in the server's setting "
        "allowed-origins",
        Quoted(request.Header("Origin")));
  }
  return fmt::format(
      "Sec-Fetch-Site {} is refused: a page of another site must send its Origin, and the server's "
      "setting allowed-origins must list that",
      Quoted(request.Header("Sec-Fetch-Site")));
}

}  // namespace polybox::http

#include "net/egress_proxy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <optional>
#include <poll.h>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "net/connect.h"
#include "net/tunnel.h"

namespace polybox::net {
namespace {

// Enough for an error message; a guest can ask for any number.
constexpr std::size_t kMostRefused = 16;

std::string Answer(int status, std::string_view reason, std::string_view text) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n"
      "\r\n{}",
      status, reason, text.size(), text);
}

/// The target of `CONNECT host:port HTTP/1.1`.
std::optional<std::string> ConnectTarget(std::string_view header) {
  constexpr std::string_view kMethod = "CONNECT ";
  const std::string_view line = header.substr(0, header.find("\r\n"));
  const std::size_t end = line.rfind(" HTTP/1.");
  if (!line.starts_with(kMethod) || end == std::string_view::npos || end < kMethod.size()) {
    return std::nullopt;
  }
  return std::string(line.substr(kMethod.size(), end - kMethod.size()));
}

}  // namespace

std::string Explain(const Refused& refused, const std::string& setting) {
  const std::string host =
      refused.host.find(':') == std::string::npos ? refused.host : "[" + refused.host + "]";
  const std::string entry = refused.port == 443 ? host : fmt::format("{}:{}", host, refused.port);
  return fmt::format("{}:{} may not be reached: {}; the setting {} with \"{}\" would allow it",
                     host, refused.port, refused.why, setting, entry);
}

struct EgressProxy::State {
  struct Connection {
    std::atomic<bool> done = false;
    std::jthread thread;
  };

  State(UniqueFd accepting, Options chosen, const log::Logger& logger)
      : listener(std::move(accepting)), options(std::move(chosen)), log(logger) {
    if (!options.resolve) options.resolve = Resolve;
  }

  void Serve();
  void Converse(int client);
  void Tunnel(int client, const HostPort& target, std::string early);
  /// The socket that leads to the target, or what to answer.
  Result<UniqueFd> Reach(const HostPort& target, std::string& early, std::string& answer);
  Result<UniqueFd> ReachDirectly(const HostPort& target, EgressPolicy::Reach reach,
                                 std::string& answer);
  Result<UniqueFd> ReachThrough(const HostPort& target, std::string& early, std::string& answer);
  Error Refuse(const HostPort& target, std::string why, std::string& answer);
  bool Count(std::uint64_t out, std::uint64_t in);
  Patience Within(Duration time) const {
    return {std::chrono::steady_clock::now() + time, stop.get()};
  }

  UniqueFd listener;
  Options options;
  log::Logger log;
  UniqueFd stop;
  mutable std::mutex mutex;
  EgressCounters counters;
  std::vector<Refused> refused;
  std::list<Connection> connections;
  std::jthread acceptor;
};

Error EgressProxy::State::Refuse(const HostPort& target, std::string why, std::string& answer) {
  const Refused entry = {target.host, target.port, std::move(why)};
  const std::string text = Explain(entry, options.policy.setting());
  answer = Answer(403, "Forbidden", "polybox: " + text + "\n");
  bool is_new = false;
  {
    const std::lock_guard lock(mutex);
    ++counters.refused;
    is_new = refused.size() < kMostRefused &&
             std::ranges::none_of(
                 refused,
                 [&](const Refused& r) { return r.host == entry.host && r.port == entry.port; });
    if (is_new) refused.push_back(entry);
  }
  // Once each, and only the first few: what is asked for comes from the jail.
  if (is_new) {
    log.Warn("refused a host to a jail",
             {{"host", entry.host}, {"port", entry.port}, {"why", entry.why}});
  }
  return Error(ErrorKind::kInvalid, text);
}

Result<UniqueFd> EgressProxy::State::ReachDirectly(const HostPort& target,
                                                   EgressPolicy::Reach reach, std::string& answer) {
  const std::vector<Address> addresses = options.resolve(target);
  Error last(ErrorKind::kUnavailable, "no address is known for it");
  std::string hidden;
  for (const Address& address : addresses) {
    if (reach != EgressPolicy::Reach::kAnyAddress && !IsPublic(address)) {
      hidden = ToText(address);
      continue;
    }
    Result<UniqueFd> connected = Connect(address, Within(options.limits.connect_time));
    if (connected.ok()) return connected;
    last = std::move(connected).error();
    hidden.clear();
  }
  if (!hidden.empty()) {
    const std::string why = target.is_address
                                ? "it is not a public address"
                                : fmt::format("its address {} is not a public one", hidden);
    return Refuse(target, why, answer);
  }
  answer = Answer(502, "Bad Gateway",
                  fmt::format("polybox: {}:{} cannot be reached: {}\n", target.host, target.port,
                              last.message()));
  return last;
}

Result<UniqueFd> EgressProxy::State::ReachThrough(const HostPort& target, std::string& early,
                                                  std::string& answer) {
  const Upstream& upstream = options.upstream;
  answer = Answer(502, "Bad Gateway", "polybox: the upstream proxy cannot be reached\n");
  const HostPort proxy = {upstream.host, upstream.port, false};
  Result<UniqueFd> connected = Error(ErrorKind::kUnavailable, "the upstream proxy has no address");
  for (const Address& address : options.resolve(proxy)) {
    connected = Connect(address, Within(options.limits.connect_time));
    if (connected.ok()) break;
  }
  if (!connected.ok()) return connected;
  const std::string host =
      target.host.find(':') == std::string::npos ? target.host : "[" + target.host + "]";
  std::string request =
      fmt::format("CONNECT {0}:{1} HTTP/1.1\r\nHost: {0}:{1}\r\n", host, target.port);
  if (!upstream.authorization.empty()) {
    request += fmt::format("Proxy-Authorization: {}\r\n", upstream.authorization);
  }
  const Patience patience = Within(options.limits.connect_time);
  const std::string header =
      SendAll(connected->get(), request + "\r\n", patience)
          ? ReadHeader(connected->get(), options.limits.header, patience, early)
          : "";
  if (header.starts_with("HTTP/1.") && header.substr(8, 4) == " 200") return connected;
  const std::string status = header.substr(0, std::min(header.find("\r\n"), std::size_t{100}));
  answer = Answer(502, "Bad Gateway",
                  fmt::format("polybox: the upstream proxy does not connect: {}\n", status));
  return Error(ErrorKind::kUnavailable, "the upstream proxy does not connect");
}

Result<UniqueFd> EgressProxy::State::Reach(const HostPort& target, std::string& early,
                                           std::string& answer) {
  const EgressPolicy::Reach reach = options.policy.ForHost(target);
  if (reach == EgressPolicy::Reach::kNowhere) {
    return Refuse(target, "it is not on the list", answer);
  }
  if (!options.upstream.UsedFor(target)) return ReachDirectly(target, reach, answer);
  // A name is the upstream's to resolve; an address can be judged here.
  if (target.is_address && reach != EgressPolicy::Reach::kAnyAddress) {
    const std::vector<Address> addresses = Resolve(target);
    if (addresses.empty() || !IsPublic(addresses[0])) {
      return Refuse(target, "it is not a public address", answer);
    }
  }
  return ReachThrough(target, early, answer);
}

bool EgressProxy::State::Count(std::uint64_t out, std::uint64_t in) {
  const std::lock_guard lock(mutex);
  counters.bytes_out += out;
  counters.bytes_in += in;
  return counters.bytes_out + counters.bytes_in <= options.limits.traffic.count();
}

void EgressProxy::State::Tunnel(int client, const HostPort& target, std::string early) {
  std::string answer;
  std::string first_words;
  Result<UniqueFd> server = Reach(target, first_words, answer);
  const bool reached = server.ok();
  if (reached) answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  {
    const std::lock_guard lock(mutex);
    if (reached) ++counters.tunnels;
    if (!reached && server.error().kind() != ErrorKind::kInvalid) ++counters.failed;
  }
  if (!SendAll(client, answer, Within(options.limits.request_time)) || !reached) return;
  RunTunnel({.client = client,
             .server = server->get(),
             .stop = stop.get(),
             .idle_time = options.limits.idle_time,
             .to_server = std::move(early),
             .to_client = std::move(first_words),
             .count = [this](std::uint64_t out, std::uint64_t in) { return Count(out, in); }});
}

void EgressProxy::State::Converse(int client) {
  std::string early;
  const Patience patience = Within(options.limits.request_time);
  const std::string header = ReadHeader(client, options.limits.header, patience, early);
  if (header.empty()) return;
  const std::optional<std::string> text = ConnectTarget(header);
  if (!text) {
    SendAll(
        client,
        Answer(405, "Method Not Allowed", "polybox: this proxy knows only CONNECT; use https\n"),
        patience);
    return;
  }
  const std::optional<HostPort> target = ParseHostPort(*text);
  if (!target) {
    {
      const std::lock_guard lock(mutex);
      ++counters.refused;
    }
    SendAll(
        client,
        Answer(400, "Bad Request", "polybox: CONNECT needs a host name or address and a port\n"),
        patience);
    return;
  }
  Tunnel(client, *target, std::move(early));
}

void EgressProxy::State::Serve() {
  constexpr int kLookAgain = 20;  // milliseconds, while all connections are taken
  while (true) {
    std::erase_if(connections, [](const Connection& one) { return one.done.load(); });
    const bool full = static_cast<int>(connections.size()) >= options.limits.connections;
    std::array<pollfd, 2> polled = {pollfd{stop.get(), POLLIN, 0},
                                    pollfd{full ? -1 : listener.get(), POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), full ? kLookAgain : -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    if (polled[1].revents == 0) continue;
    UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) continue;
    Connection& connection = connections.emplace_back();
    connection.thread = std::jthread([this, &connection, held = std::move(client)] {
      Converse(held.get());
      connection.done = true;
    });
  }
}

EgressProxy::EgressProxy(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<EgressProxy>> EgressProxy::Start(UniqueFd listener, Options options,
                                                        const log::Logger& log) {
  const int flags = ::fcntl(listener.get(), F_GETFL);
  if (flags < 0 || ::fcntl(listener.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return Error::FromErrno("take over the egress listener");
  }
  auto state = std::make_unique<State>(std::move(listener), std::move(options), log);
  state->stop = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->stop.valid()) return Error::FromErrno("make an eventfd");
  State* const running = state.get();
  state->acceptor = std::jthread([running] { running->Serve(); });
  return std::unique_ptr<EgressProxy>(new EgressProxy(std::move(state)));
}

EgressProxy::~EgressProxy() {
  ::eventfd_write(state_->stop.get(), 1);
  state_->acceptor.join();
  state_->connections.clear();
}

EgressCounters EgressProxy::counters() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counters;
}

std::vector<Refused> EgressProxy::refused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refused;
}

}  // namespace polybox::net

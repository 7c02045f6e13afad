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
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "net/connect.h"
#include "net/connect_request.h"
#include "net/tunnel.h"

namespace polybox::net {
namespace {

// Enough for an error message. There must be a limit, because a guest can ask for any number of
// hosts.
constexpr std::size_t kMostRefused = 16;

// More than the hosts of any package registry.
constexpr std::size_t kMostOpened = 64;

constexpr const char* kHidden = "its address is not a public one";

std::string Answer(int status, std::string_view reason, std::string_view text) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n"
      "\r\n{}",
      status, reason, text.size(), text);
}

std::string Forbidden(std::string_view text) {
  return Answer(403, "Forbidden", fmt::format("polybox: {}\n", text));
}

/// Allows `most` connections in each second.
class Pace {
 public:
  explicit Pace(int most) : most_(most) {}
  void Count() { ++count_; }
  bool IsTooFast() {
    const auto now = std::chrono::steady_clock::now();
    if (now - begin_ >= std::chrono::seconds(1)) {
      begin_ = now;
      count_ = 0;
    }
    return count_ >= most_;
  }

 private:
  const int most_;
  int count_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string Explain(const Refused& refused, const std::string& setting) {
  const std::string host = Bracketed(refused.host.Reveal());
  const std::string entry = refused.port == 443 ? host : fmt::format("{}:{}", host, refused.port);
  const std::string allow =
      refused.address.empty() ? fmt::format("\"{}\"", entry) : "its address, which the log has,";
  return fmt::format("{}:{} may not be reached: {}; the setting {} with {} would allow it", host,
                     refused.port, refused.why, setting, allow);
}

struct EgressProxy::State {
  /// The result of trying to reach a host.
  struct Reached {
    EgressOutcome outcome = EgressOutcome::kUnreachable;
    /// The proxy's answer to the client, unless a tunnel is opened.
    std::string answer;
    UniqueFd server = {};
    /// Bytes that the server has already sent.
    std::string first_words = {};
  };

  /// A target with the policy that decides about it.
  struct Judged {
    const HostPort& target;
    const EgressPolicy& policy;
    EgressPolicy::Reach reach;
  };

  struct Connection {
    std::atomic<bool> done = false;
    std::jthread thread;
  };

  State(UniqueFd accepting, Options chosen, std::shared_ptr<EgressLedger> book)
      : listener(std::move(accepting)),
        options(std::move(chosen)),
        ledger(std::move(book)),
        open(options.door == Door::kOpen) {
    if (!options.resolver) options.resolver = std::make_shared<NameResolver>();
  }

  void Serve();
  /// Accepts one connection. Returns false when the machine has no descriptor or thread left for
  /// it.
  bool Accept();
  void Converse(int client, Door came_through);
  /// Counts a request that is not a valid CONNECT, and returns the answer.
  std::string RefuseRequest(ConnectProblem problem) const;
  void Tunnel(int client, Reached reached, std::string early);
  Reached Reach(const HostPort& target, Door came_through);
  Reached Connect(const Judged& judged);
  Reached ReachDirectly(const Judged& judged);
  Reached ReachThrough(const HostPort& target);
  /// Returns the policy of `options.later` if that decides about the target, else null.
  std::shared_ptr<const EgressPolicy> LaterPolicy(const HostPort& target);
  void NoteOpened(const HostPort& target);
  Reached Refuse(EgressOutcome outcome, Refused refused);
  Reached RefuseAddress(const Judged& judged, const Address& address);
  /// Answers in the same way for an internal name and for an unknown name. A guest must not learn
  /// which internal names exist.
  Reached RefuseUnknown(const HostPort& target);
  static bool HidesAddressOf(const Judged& judged);
  bool CountBytes(std::uint64_t out, std::uint64_t in);
  Patience Within(Duration time) const {
    return {std::chrono::steady_clock::now() + time, stop.get()};
  }

  UniqueFd listener;
  Options options;
  std::shared_ptr<EgressLedger> ledger;
  const NameResolver::Asker asker = NameResolver::NewAsker();
  /// Held while `open` changes and while a connection is accepted. So each connection is accepted
  /// either before or after a change.
  std::mutex door;
  std::atomic<bool> open;
  std::atomic<bool> visited = false;
  /// Bytes of all tunnels in both directions.
  std::atomic<std::uint64_t> moved = 0;
  /// An eventfd that becomes readable when the proxy ends; every wait of a thread includes it.
  UniqueFd stop;
  // Guards first_refused and first_opened.
  mutable std::mutex mutex;
  std::vector<Refused> first_refused;
  std::vector<HostPort> first_opened;
  /// Only the acceptor thread uses the list; the destructor clears it after joining that thread.
  std::list<Connection> connections;
  /// Runs Serve().
  std::jthread acceptor;
};

EgressProxy::State::Reached EgressProxy::State::Refuse(EgressOutcome outcome, Refused refused) {
  const std::string text = Explain(refused, options.policy.setting());
  ledger->Note(refused);
  const std::lock_guard lock(mutex);
  const bool is_new = std::ranges::none_of(first_refused, [&](const Refused& one) {
    return one.host == refused.host && one.port == refused.port;
  });
  if (is_new && first_refused.size() < kMostRefused) first_refused.push_back(std::move(refused));
  return {outcome, Forbidden(text)};
}

bool EgressProxy::State::HidesAddressOf(const Judged& judged) {
  return !judged.target.is_address &&
         judged.policy.inside() == EgressPolicy::Inside::kNamedThemselves;
}

void EgressProxy::State::NoteOpened(const HostPort& target) {
  const std::lock_guard lock(mutex);
  const bool is_new = std::ranges::count(first_opened, target) == 0;
  if (is_new && first_opened.size() < kMostOpened) first_opened.push_back(target);
}

EgressProxy::State::Reached EgressProxy::State::RefuseAddress(const Judged& judged,
                                                              const Address& address) {
  const HostPort& target = judged.target;
  Refused refused = {GuestBytes(target.host), target.port, "it is not a public address"};
  const std::string text = ToText(address);
  if (HidesAddressOf(judged)) {
    refused.why = kHidden;
    refused.address = text;
  } else if (!target.is_address) {
    refused.why = fmt::format("its address {} is not a public one", text);
  }
  return Refuse(EgressOutcome::kNotPublic, std::move(refused));
}

EgressProxy::State::Reached EgressProxy::State::RefuseUnknown(const HostPort& target) {
  ledger->Note({GuestBytes(target.host), target.port, "no address is known for it"});
  const Refused told = {GuestBytes(target.host), target.port, kHidden, "in the log"};
  return {EgressOutcome::kUnreachable, Forbidden(Explain(told, options.policy.setting()))};
}

// Connects to an address that the policy allows. The checked addresses are the ones that are used,
// so the name is resolved only once.
EgressProxy::State::Reached EgressProxy::State::ReachDirectly(const Judged& judged) {
  const HostPort& target = judged.target;
  const Patience patience = Within(options.limits.connect_time);
  std::vector<Address> addresses = options.resolver->Find(target, asker, patience);
  if (addresses.empty() && HidesAddressOf(judged)) return RefuseUnknown(target);
  const std::optional<Address> first =
      addresses.empty() ? std::nullopt : std::optional(addresses.front());
  std::erase_if(addresses, [&](const Address& address) {
    return !judged.policy.Allows(judged.reach, address, target.port);
  });
  if (first && addresses.empty()) return RefuseAddress(judged, *first);
  Result<UniqueFd> connected = ConnectToAny(addresses, patience);
  if (connected.ok()) {
    NoteOpened(target);
    return {EgressOutcome::kOpened, "", std::move(connected).value()};
  }
  return {EgressOutcome::kUnreachable,
          Answer(502, "Bad Gateway",
                 fmt::format("polybox: {} cannot be reached: {}\n",
                             JoinHostPort(target.host, target.port), connected.error().message()))};
}

// Asks the upstream proxy for a tunnel to `target`, with a CONNECT request of its own.
EgressProxy::State::Reached EgressProxy::State::ReachThrough(const HostPort& target) {
  const Upstream& upstream = options.upstream;
  const Patience patience = Within(options.limits.connect_time);
  Result<UniqueFd> connected =
      ConnectToAny(options.resolver->Find(upstream.where(), asker, patience), patience);
  const auto failed = [](const std::string& text) -> Reached {
    return {EgressOutcome::kUnreachable, Answer(502, "Bad Gateway", "polybox: " + text + "\n")};
  };
  if (!connected.ok()) return failed("the upstream proxy cannot be reached");
  std::string request =
      fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", JoinHostPort(target.host, target.port));
  if (!upstream.authorization.empty()) {
    request += fmt::format("Proxy-Authorization: {}\r\n", upstream.authorization);
  }
  std::string early;
  const std::string header =
      SendAll(connected->get(), request + "\r\n", patience)
          ? ReadHeader(connected->get(), options.limits.header, patience, early)
          : "";
  if (header.starts_with("HTTP/1.") && header.substr(8, 4) == " 200") {
    NoteOpened(target);
    return {EgressOutcome::kOpened, "", std::move(connected).value(), std::move(early)};
  }
  return failed("the upstream proxy does not connect: " +
                header.substr(0, std::min(header.find("\r\n"), std::size_t{100})));
}

std::shared_ptr<const EgressPolicy> EgressProxy::State::LaterPolicy(const HostPort& target) {
  if (!options.later || options.policy.Names(target)) return nullptr;
  // A host that the list allows by another entry need not wait.
  const bool listed = options.policy.ForHost(target) != EgressPolicy::Reach::kNowhere;
  return options.later->Find(target, listed ? LaterHosts::Wait::kNo : LaterHosts::Wait::kYes,
                             Within(options.limits.later_time));
}

EgressProxy::State::Reached EgressProxy::State::Reach(const HostPort& target, Door came_through) {
  const auto not_now = [&](std::string_view why) {
    return Forbidden(
        fmt::format("{} may not be reached: {}", JoinHostPort(target.host, target.port), why));
  };
  if (came_through == Door::kClosed || !open) {
    return {EgressOutcome::kNotYet,
            not_now("only the program itself may reach hosts, nothing that runs before it")};
  }
  if (moved >= options.limits.traffic.count()) {
    return {EgressOutcome::kOverTraffic,
            not_now(fmt::format("all tunnels together may move {} bytes, and have",
                                options.limits.traffic.count()))};
  }
  const std::shared_ptr<const EgressPolicy> later = LaterPolicy(target);
  const EgressPolicy& policy = later ? *later : options.policy;
  return Connect({target, policy, policy.ForHost(target)});
}

// The policy is asked before the name is resolved. A DNS query for a name off the list would itself
// send data to the name's owner.
EgressProxy::State::Reached EgressProxy::State::Connect(const Judged& judged) {
  const HostPort& target = judged.target;
  if (judged.reach == EgressPolicy::Reach::kNowhere) {
    return Refuse(EgressOutcome::kNotListed,
                  {GuestBytes(target.host), target.port, "it is not on the list"});
  }
  if (!options.upstream.UsedFor(target)) return ReachDirectly(judged);
  // The upstream proxy resolves names, so only addresses can be judged here. For unreviewed code
  // the entry "public" therefore allows no names: a name could be internal.
  if (HidesAddressOf(judged) && !judged.policy.Names(target)) {
    return Refuse(EgressOutcome::kNotListed,
                  {GuestBytes(target.host), target.port,
                   "behind an upstream proxy only named hosts are given"});
  }
  if (target.is_address) {
    const std::vector<Address> addresses = Resolve(target);
    if (addresses.empty() || !judged.policy.Allows(judged.reach, addresses[0], target.port)) {
      return RefuseAddress(judged, addresses.empty() ? Address() : addresses[0]);
    }
  }
  return ReachThrough(target);
}

bool EgressProxy::State::CountBytes(std::uint64_t out, std::uint64_t in) {
  ledger->CountBytes(out, in);
  return (moved += out + in) <= options.limits.traffic.count();
}

void EgressProxy::State::Tunnel(int client, Reached reached, std::string early) {
  const bool opened = reached.outcome == EgressOutcome::kOpened;
  ledger->Count(reached.outcome);
  if (opened) reached.answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  if (!SendAll(client, reached.answer, Within(options.limits.request_time)) || !opened) return;
  RunTunnel({.client = client,
             .server = reached.server.get(),
             .stop = stop.get(),
             .idle_time = options.limits.idle_time,
             .to_server = std::move(early),
             .to_client = std::move(reached.first_words),
             .count = [this](std::uint64_t out, std::uint64_t in) { return CountBytes(out, in); }});
}

std::string EgressProxy::State::RefuseRequest(ConnectProblem problem) const {
  if (problem == ConnectProblem::kNotConnect) {
    ledger->Count(EgressOutcome::kNotConnect);
    return Answer(405, "Method Not Allowed",
                  "polybox: this proxy knows only CONNECT, and so no plain http; use https, or a "
                  "client that tunnels (curl --proxytunnel)\n");
  }
  ledger->Count(EgressOutcome::kMalformed);
  return Answer(400, "Bad Request", "polybox: CONNECT needs a host name or address and a port\n");
}

void EgressProxy::State::Converse(int client, Door came_through) {
  std::string early;
  const Patience patience = Within(options.limits.request_time);
  const std::string header = ReadHeader(client, options.limits.header, patience, early);
  if (header.empty()) return;
  const auto request = ReadConnectRequest(header);
  const auto* target = std::get_if<HostPort>(&request);
  if (target == nullptr) {
    SendAll(client, RefuseRequest(std::get<ConnectProblem>(request)), patience);
    return;
  }
  Tunnel(client, Reach(*target, came_through), std::move(early));
}

bool EgressProxy::State::Accept() {
  UniqueFd client;
  Door came_through = Door::kClosed;
  {
    // The lock ensures that `open` does not change between accept4() and the check.
    const std::lock_guard lock(door);
    client.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    visited = true;
    if (open) came_through = Door::kOpen;
  }
  Connection& connection = connections.emplace_back();
  try {
    connection.thread = std::jthread([this, &connection, came_through, held = std::move(client)] {
      Converse(held.get(), came_through);
      connection.done = true;
    });
  } catch (const std::system_error&) {
    connections.pop_back();
    return false;
  }
  return true;
}

void EgressProxy::State::Serve() {
  constexpr int kLookAgain = 20;  // milliseconds until the next try while no connection can be
                                  // accepted
  bool short_of_something = false;
  Pace pace(options.limits.per_second);
  while (true) {
    std::erase_if(connections, [](const Connection& one) { return one.done.load(); });
    const bool full = static_cast<int>(connections.size()) >= options.limits.connections;
    const bool rest = full || std::exchange(short_of_something, false) || pace.IsTooFast();
    std::array<pollfd, 2> polled = {pollfd{stop.get(), POLLIN, 0},
                                    pollfd{rest ? -1 : listener.get(), POLLIN, 0}};
    if (::poll(polled.data(), polled.size(), rest ? kLookAgain : -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    if (polled[1].revents == 0) continue;
    short_of_something = !Accept();
    pace.Count();
  }
}

EgressProxy::EgressProxy(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<EgressProxy>> EgressProxy::Start(UniqueFd listener, Options options,
                                                        std::shared_ptr<EgressLedger> ledger) {
  const int flags = ::fcntl(listener.get(), F_GETFL);
  if (flags < 0 || ::fcntl(listener.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return Error::FromErrno("take over the egress listener");
  }
  BoundBuffers(listener.get());
  auto state = std::make_unique<State>(std::move(listener), std::move(options), std::move(ledger));
  state->stop = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->stop.valid()) return Error::FromErrno("make an eventfd");
  State* const running = state.get();
  try {
    state->acceptor = std::jthread([running] { running->Serve(); });
  } catch (const std::system_error& error) {
    return Error::FromErrno("start a thread for the egress proxy", error.code().value());
  }
  return std::unique_ptr<EgressProxy>(new EgressProxy(std::move(state)));
}

EgressProxy::~EgressProxy() {
  ::eventfd_write(state_->stop.get(), 1);
  state_->acceptor.join();
  state_->connections.clear();
}

void EgressProxy::Open() {
  // At most this many connections can wait in the backlog. The bound makes the loop end although
  // clients may continue to connect.
  constexpr int kMostWaiting = 4096;
  const std::lock_guard lock(state_->door);
  // Every connection in the backlog was made before the proxy was opened.
  for (int i = 0; i < kMostWaiting; ++i) {
    const UniqueFd early(::accept4(state_->listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!early.valid()) break;
    state_->ledger->Count(EgressOutcome::kNotYet);
  }
  state_->open = true;
}

bool EgressProxy::Close() {
  const std::lock_guard lock(state_->door);
  state_->open = false;
  return !state_->visited;
}

std::vector<Refused> EgressProxy::refused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->first_refused;
}

std::vector<Refused> EgressProxy::TakeRefused() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->first_refused, {});
}

std::vector<HostPort> EgressProxy::opened() const {
  const std::lock_guard lock(state_->mutex);
  return state_->first_opened;
}

}  // namespace polybox::net

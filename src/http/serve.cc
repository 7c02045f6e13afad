#include "http/serve.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/signalfd.h>

#include "http/address.h"
#include "http/openapi.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Probes come every second: they are counted, and logged only for those who look closely.
bool IsProbe(const Served& served) {
  constexpr std::string_view kProbes[] = {"/health", "/healthz", "/readyz", "/metrics", "/"};
  return served.status < 400 && std::ranges::count(kProbes, served.route) != 0;
}

/// A request line of the log: what was asked and how it went, never what was sent.
void LogServed(const log::Logger& log, const Served& served) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(served.time);
  const log::Logger line = log.With({{"id", served.id},
                                     {"method", served.method},
                                     {"path", served.path},
                                     {"status", served.status},
                                     {"bytes_in", served.bytes_in},
                                     {"bytes_out", served.bytes_out},
                                     {"us", us.count()},
                                     {"client", served.client},
                                     {"door", served.door}});
  IsProbe(served) ? line.Debug("request") : line.Info("request");
}

Result<ServerOptions> Complete(const ServeParts& parts, const log::Logger& log) {
  ServerOptions options = parts.server;
  options.open = OpenRequests();
  options.doors.push_back(MakeReadyDoor(parts.readiness));
  const ApiFacts facts{parts.version, !options.tokens.empty(), options.open};
  POLYBOX_ASSIGN_OR_RETURN(Door api, MakeApiDoor(options.doors, facts));
  options.doors.push_back(std::move(api));
  options.observe = [&metrics = parts.metrics, log](const Served& served) {
    metrics.RequestAnswered({.door = std::string(served.door),
                             .route = std::string(served.route),
                             .status = served.status,
                             .time = served.time});
    LogServed(log, served);
  };
  return options;
}

Result<std::vector<std::string>> ListenEverywhere(Server& server, const Places& places) {
  std::vector<std::string> addresses;
  POLYBOX_ASSIGN_OR_RETURN(std::string main, server.Listen(places.listen));
  POLYBOX_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(main));
  addresses.push_back(std::move(main));
  if (places.runtime_port != 0) {
    const std::string second = JoinAddress({parts.host, std::to_string(places.runtime_port)});
    POLYBOX_ASSIGN_OR_RETURN(std::string runtime, server.Listen(second));
    addresses.push_back(std::move(runtime));
  }
  if (!places.unix_socket.empty()) {
    POLYBOX_RETURN_IF_ERROR(server.ListenUnix(places.unix_socket));
    addresses.push_back(places.unix_socket);
  }
  return addresses;
}

/// Waits at most `time` (below 0: for ever) for a signal; its name, "" when none came.
std::string AwaitSignal(int signals, int time_ms) {
  pollfd waiting{signals, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, time_ms);
  } while (ready < 0 && errno == EINTR);
  signalfd_siginfo info{};
  if (ready <= 0 || ::read(signals, &info, sizeof info) != sizeof info) return "";
  return info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
}

/// A further signal ends the process whatever state it is in.
void LetSignalsKill() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

class Draining {
 public:
  Draining(const ServeParts& parts, Server& server) : parts_(parts), server_(server) {}

  Ended Run() {
    parts_.readiness->Drain();
    server_.Drain();
    parts_.executor.Drain();
    const auto deadline = std::chrono::steady_clock::now() + parts_.drain_time;
    Ended ended = Ended::kCancelled;
    do {
      if (IsIdle()) return Ended::kDrained;
      if (!AwaitSignal(parts_.signals, 0).empty()) {
        ended = Ended::kInterrupted;
        break;
      }
    } while (std::chrono::steady_clock::now() < deadline);
    if (ended == Ended::kInterrupted) LetSignalsKill();
    parts_.executor.CancelAll();
    // Those who wait are told before their connections end.
    if (ended == Ended::kCancelled && parts_.executor.AwaitIdle(seconds(2))) {
      server_.AwaitIdle(seconds(1));
    }
    return ended;
  }

 private:
  bool IsIdle() {
    return parts_.executor.AwaitIdle(milliseconds(20)) && server_.AwaitIdle(milliseconds(20));
  }

  const ServeParts& parts_;
  Server& server_;
};

std::string_view NameOf(Ended ended) {
  switch (ended) {
    case Ended::kDrained:
      return "everything has finished";
    case Ended::kCancelled:
      return "what still ran was cancelled";
    case Ended::kInterrupted:
      return "a second signal came";
  }
  return "";
}

}  // namespace

std::vector<std::string> OpenRequests() {
  std::vector<std::string> requests;
  for (const char* path : {"/health", "/healthz", "/readyz", "/"}) {
    for (const char* method : {"GET", "HEAD"})
      requests.push_back(fmt::format("{} {}", method, path));
  }
  return requests;
}

Result<bool> IsOpenToAll(const Places& places, const Tokens& tokens) {
  POLYBOX_ASSIGN_OR_RETURN(const bool loopback,
                           IsLoopback(places.listen).In("listen on " + places.listen));
  return !loopback && tokens.empty();
}

Status CheckExposure(const Places& places, const Tokens& tokens) {
  POLYBOX_ASSIGN_OR_RETURN(const bool open, IsOpenToAll(places, tokens));
  if (!open || places.insecure) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("refusing to listen on {}: other machines reach it, and whoever reaches "
                           "it can run programs here",
                           places.listen))
      .WithFix(
          "give --token-file FILE (for example: (umask 077; head -c 32 /dev/urandom | base64 > "
          "FILE)), listen "
          "on 127.0.0.1, or say --insecure if something else guards the address");
}

Result<UniqueFd> StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Error::FromErrno("block signals");
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return Error::FromErrno("signalfd");
  return signals;
}

Result<Ended> Serve(ServeParts parts, const log::Logger& log) {
  POLYBOX_RETURN_IF_ERROR(CheckExposure(parts.places, parts.server.tokens));
  POLYBOX_ASSIGN_OR_RETURN(const bool open, IsOpenToAll(parts.places, parts.server.tokens));
  POLYBOX_ASSIGN_OR_RETURN(ServerOptions options, Complete(parts, log));
  Server server(std::move(options), log);
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                           ListenEverywhere(server, parts.places));
  server.Start();
  for (const std::string& address : addresses) log.Info("listening", {{"address", address}});
  if (open) {
    log.Warn("no token is asked for: whoever reaches this address can run programs here",
             {{"address", addresses[0]}});
  }
  if (parts.started) parts.started(addresses);
  const std::string signal = AwaitSignal(parts.signals, -1);
  log.Info("ending", {{"signal", signal}, {"connections", server.connections()}});
  const Ended ended = Draining(parts, server).Run();
  log.Info("ended", {{"because", NameOf(ended)}});
  return ended;
}

}  // namespace polybox::http

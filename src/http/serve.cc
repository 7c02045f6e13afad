#include "http/serve.h"

#include <csignal>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/signalfd.h>

#include "http/address.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Logs the request line and the result, but never the body that the client sent.
void LogServed(const log::Logger& log, const Served& served) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(served.time);
  const log::Logger line = log.With({{"id", served.id},
                                     {"method", served.method},
                                     {"path", served.path},
                                     {"status", served.status},
                                     {"language", served.language},
                                     {"outcome", served.outcome},
                                     {"bytes_in", served.bytes_in},
                                     {"bytes_out", served.bytes_out},
                                     {"us", us.count()},
                                     {"client", served.client},
                                     {"door", served.door}});
  served.log_level == log::Level::kDebug ? line.Debug("request") : line.Info("request");
}

/// Adds the observer, which counts and logs each request.
ServerOptions Observed(const ServeParts& parts, const log::Logger& log) {
  ServerOptions options = parts.server;
  options.observe = [&metrics = parts.metrics, log](const Served& served) {
    metrics.RequestAnswered({.door = std::string(served.door),
                             .route = std::string(served.route),
                             .status = served.status,
                             .time = served.time});
    LogServed(log, served);
  };
  return options;
}

Result<std::vector<std::string>> ListenEverywhere(Server& server, const ListenAddresses& listen) {
  std::vector<std::string> addresses;
  POLYBOX_ASSIGN_OR_RETURN(std::string main, server.Listen(listen.tcp));
  POLYBOX_ASSIGN_OR_RETURN(const net::HostPortText parts, SplitAddress(main));
  addresses.push_back(std::move(main));
  if (listen.runtime_port != 0) {
    const std::string second =
        net::JoinHostPort(parts.host, static_cast<std::uint16_t>(listen.runtime_port));
    POLYBOX_ASSIGN_OR_RETURN(std::string runtime, server.Listen(second));
    addresses.push_back(std::move(runtime));
  }
  if (!listen.unix_socket.empty()) {
    POLYBOX_RETURN_IF_ERROR(server.ListenUnix(listen.unix_socket));
    addresses.push_back(listen.unix_socket);
  }
  return addresses;
}

/// Waits for a signal for at most `time_ms` (below 0: without limit). Returns its name, "" when
/// none arrived.
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

/// Unblocks the signals, so that a further signal ends the process in any state.
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

  ServeEnd Run() {
    parts_.readiness->Drain();
    server_.Drain();
    parts_.executor.Drain();
    const auto deadline = std::chrono::steady_clock::now() + parts_.drain_time;
    ServeEnd ended = ServeEnd::kCancelled;
    do {
      if (IsIdle()) return ServeEnd::kDrained;
      if (!AwaitSignal(parts_.signals, 0).empty()) {
        ended = ServeEnd::kInterrupted;
        break;
      }
    } while (std::chrono::steady_clock::now() < deadline);
    if (ended == ServeEnd::kInterrupted) LetSignalsKill();
    parts_.executor.CancelAll();
    // Waiting clients get their answers before their connections are closed.
    if (ended == ServeEnd::kCancelled && parts_.executor.AwaitIdle(seconds(2))) {
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

std::string_view NameOf(ServeEnd ended) {
  switch (ended) {
    case ServeEnd::kDrained:
      return "everything has finished";
    case ServeEnd::kCancelled:
      return "what still ran was cancelled";
    case ServeEnd::kInterrupted:
      return "a second signal came";
  }
  return "";
}

}  // namespace

Result<bool> IsOpenToAll(const ListenAddresses& listen, const Tokens& tokens) {
  POLYBOX_ASSIGN_OR_RETURN(const bool loopback,
                           IsLoopback(listen.tcp).In("listen on " + listen.tcp));
  return !loopback && tokens.empty();
}

Status CheckExposure(const ListenAddresses& listen, const Tokens& tokens) {
  POLYBOX_ASSIGN_OR_RETURN(const bool open, IsOpenToAll(listen, tokens));
  if (!open || listen.insecure) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("refusing to listen on {}: other machines reach it, and whoever reaches "
                           "it can run programs here",
                           listen.tcp))
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

Result<ServeEnd> Serve(ServeParts parts, const log::Logger& log) {
  POLYBOX_RETURN_IF_ERROR(CheckExposure(parts.listen, parts.server.tokens));
  POLYBOX_ASSIGN_OR_RETURN(const bool open, IsOpenToAll(parts.listen, parts.server.tokens));
  Server server(Observed(parts, log), log);
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                           ListenEverywhere(server, parts.listen));
  server.Start();
  for (const std::string& address : addresses) log.Info("listening", {{"address", address}});
  if (open) {
    log.Warn("no token is asked for: anyone who reaches this address can run programs here",
             {{"address", addresses[0]}});
  }
  if (parts.started) parts.started(addresses);
  const std::string signal = AwaitSignal(parts.signals, -1);
  log.Info("ending", {{"signal", signal}, {"connections", server.connections()}});
  const ServeEnd ended = Draining(parts, server).Run();
  log.Info("ended", {{"because", NameOf(ended)}});
  return ended;
}

}  // namespace polybox::http

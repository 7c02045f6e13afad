#include "http/server.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "http/address.h"
#include "http/connection.h"

namespace polybox::http {
namespace {

namespace asio = boost::asio;
using asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<stream_protocol, Strand>;

struct Listener {
  Acceptor acceptor;
  /// The listener has a loopback address.
  bool on_loopback = false;
};
using ErrorCode = boost::system::error_code;
using std::chrono::steady_clock;

// The kernel's own bound (net.core.somaxconn) is usually lower.
constexpr int kBacklog = 4096;

// A server that drains, or has too many connections, closes a connection after this time without a
// request. The request of a client that has just connected may be on its way; closing at once would
// reset the connection without an answer.
constexpr std::chrono::milliseconds kQuietTime(250);

Error ListenError(const std::string& address, const ErrorCode& error) {
  Error failure = Error::FromErrno("listen on " + address, error.value());
  switch (error.value()) {
    case EADDRINUSE:
      return std::move(failure).WithFix(
          "another program listens there; end it, or choose another address (--listen, --port, "
          "--runtime-port, --unix-socket; POLYBOX_PORT in the environment)");
    case EACCES:
      return std::move(failure).WithFix(
          address.starts_with('/')
              ? "this user may not make a file there; choose another place with --unix-socket"
              : "this user may not listen there; choose a port above 1023 with --listen");
    case EADDRNOTAVAIL:
      return std::move(failure).WithFix(
          "no interface of this machine has that address; choose another with --listen");
    default:
      return failure;
  }
}

/// Returns the name of a peer that sends no token.
std::string ClientName(const Socket& socket) {
  ErrorCode error;
  const stream_protocol::endpoint peer = socket.remote_endpoint(error);
  if (error) return "unknown";
  const auto* address = reinterpret_cast<const sockaddr*>(peer.data());
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return asio::ip::address_v4(ntohl(v4->sin_addr.s_addr)).to_string();
  }
  if (address->sa_family != AF_INET6) return "unix";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  asio::ip::address_v6::bytes_type bytes;
  std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  const asio::ip::address_v6 name(bytes);
  if (!name.is_v4_mapped()) return name.to_string();
  return asio::ip::make_address_v4(asio::ip::v4_mapped, name).to_string();
}

bool IsLoopback(const asio::ip::address& address) {
  if (address.is_v4() || !address.to_v6().is_v4_mapped()) return address.is_loopback();
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
}

/// Sets keep-alive, to notice a peer that vanished, and turns off the delay of small answers.
void Tune(Socket& socket) {
  ErrorCode ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

/// Returns whether `path` is a socket on which no process listens.
bool IsStale(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  asio::io_context io;
  asio::local::stream_protocol::socket probe(io);
  ErrorCode error;
  probe.connect(asio::local::stream_protocol::endpoint(path), error);
  return error == asio::error::connection_refused;
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, const log::Logger& log) : shared_(std::move(options), log) {
    std::size_t count = shared_.options.threads;
    if (count == 0) count = std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
    for (std::size_t i = 0; i < count; ++i) loops_.emplace_back();
  }

  ~Impl() {
    if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
  }

  Result<std::string> Listen(const std::string& address) {
    POLYBOX_ASSIGN_OR_RETURN(const net::HostPortText parts, SplitAddress(address));
    asio::ip::tcp::resolver resolver(accepting_.io);
    ErrorCode error;
    const auto found =
        resolver.resolve(parts.host, parts.port, asio::ip::tcp::resolver::passive, error);
    if (error) {
      return Error(ErrorKind::kInvalid, fmt::format("listen on {}: {}", address, error.message()));
    }
    for (const auto& entry : found) {
      const asio::ip::tcp::endpoint endpoint = entry.endpoint();
      Acceptor acceptor = MakeAcceptor();
      error = Open(acceptor, endpoint, endpoint.address().is_v6());
      if (error) continue;
      asio::ip::tcp::endpoint bound;
      const auto local = acceptor.local_endpoint();
      std::copy_n(static_cast<const char*>(static_cast<const void*>(local.data())), local.size(),
                  static_cast<char*>(static_cast<void*>(bound.data())));
      listeners_.push_back({std::move(acceptor), IsLoopback(bound.address())});
      return net::JoinHostPort(parts.host, bound.port());
    }
    return ListenError(address, error);
  }

  Status ListenUnix(const std::string& path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return Error(ErrorKind::kInvalid, fmt::format("listen on {}: the path is too long", path));
    }
    if (IsStale(path)) ::unlink(path.c_str());
    Acceptor acceptor = MakeAcceptor();
    const ErrorCode error = Open(acceptor, asio::local::stream_protocol::endpoint(path), false);
    if (error) return ListenError(path, error);
    listeners_.push_back({std::move(acceptor)});
    unix_path_ = path;
    return {};
  }

  void Start() {
    for (Listener& listener : listeners_) {
      asio::co_spawn(
          listener.acceptor.get_executor(), [this, &listener] { return Accept(listener); },
          asio::detached);
    }
    for (Loop& loop : loops_) threads_.emplace_back([this, &loop] { Work(loop); });
    threads_.emplace_back([this] { Work(accepting_); });
  }

  void Drain() {
    shared_.draining = true;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& connection : connections_) connection->Drain();
    }
    CloseQuiet();
  }

  bool AwaitIdle(Duration time) {
    CloseQuiet();
    std::unique_lock lock(mutex_);
    return room_.wait_for(lock, time, [this] {
      return std::ranges::none_of(connections_,
                                  [](const auto& connection) { return IsBusy(*connection); });
    });
  }

  void Stop() {
    if (stopped_) return;
    stopped_ = true;
    Drain();
    StopAccepting();
    std::unique_lock lock(mutex_);
    for (const auto& connection : connections_) connection->Abort();
    // A connection ends as soon as its door has returned.
    if (!threads_.empty()) {
      room_.wait_for(lock, std::chrono::seconds(5), [this] { return connections_.empty(); });
    }
    lock.unlock();
    shared_.large.join();
    for (Loop& loop : loops_) loop.io.stop();
    accepting_.io.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }

 private:
  using Connections = std::list<std::shared_ptr<Connection>>;

  /// The event loop of one thread. A connection always stays in one loop: threads that share a loop
  /// would pass every step of a connection to each other.
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  };

  /// Returns whether the connection serves a request or may be about to receive one.
  static bool IsBusy(const Connection& connection) {
    return connection.IdleSince() > steady_clock::now() - kQuietTime;
  }

  /// Closes the connections that have been idle for kQuietTime.
  void CloseQuiet() {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) connection->CloseIfIdle(kQuietTime);
  }

  void StopAccepting() {
    shared_.stopping = true;
    for (Listener& listener : listeners_) {
      asio::post(listener.acceptor.get_executor(), [&listener] {
        ErrorCode ignored;
        listener.acceptor.close(ignored);
      });
    }
  }

  Acceptor MakeAcceptor() { return Acceptor(asio::make_strand(accepting_.io)); }

  Strand NextStrand() {
    const std::size_t turn = turns_++ % loops_.size();
    return asio::make_strand(std::next(loops_.begin(), static_cast<std::ptrdiff_t>(turn))->io);
  }

  static ErrorCode Open(Acceptor& acceptor, const stream_protocol::endpoint& endpoint, bool v6) {
    ErrorCode error;
    ErrorCode ignored;
    acceptor.open(endpoint.protocol(), error);
    if (error) return error;
    acceptor.set_option(asio::socket_base::reuse_address(true), ignored);
    // An IPv6 listener, such as [::], also accepts IPv4.
    if (v6) acceptor.set_option(asio::ip::v6_only(false), ignored);
    // A Unix socket gets this mode when it is bound. The mode has no effect on other sockets.
    if (::fchmod(acceptor.native_handle(), S_IRUSR | S_IWUSR) != 0) {
      return {errno, boost::system::system_category()};
    }
    acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(kBacklog, error);
    return error;
  }

  /// The body of a thread. An exception of one handler must not end the other connections of the
  /// loop.
  void Work(Loop& loop) {
    while (true) {
      try {
        loop.io.run();
        return;
      } catch (const std::exception& failure) {
        shared_.log.Error("a server thread continues after an exception",
                          {{"what", failure.what()}});
      }
    }
  }

  asio::awaitable<void, Strand> Accept(Listener& listener) {
    Acceptor& acceptor = listener.acceptor;
    asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, Strand> pause(
        acceptor.get_executor());
    while (!shared_.stopping) {
      ErrorCode error;
      auto token = asio::redirect_error(asio::use_awaitable_t<Strand>(), error);
      Socket socket(NextStrand());
      co_await acceptor.async_accept(socket, token);
      // The accepted connection waits until another connection ends. Further connections wait in
      // the kernel.
      while (!error && !HasRoom() && !shared_.stopping) {
        CloseLongestIdle();
        pause.expires_after(std::chrono::milliseconds(10));
        co_await pause.async_wait(token);
      }
      if (!error) {
        Begin(std::move(socket), listener);
      } else if (error != asio::error::operation_aborted) {
        co_await Recover(error, pause);
      }
    }
  }

  /// Handles a lack of descriptors or memory: closes the connection that has been idle longest, and
  /// waits.
  template <typename Pause>
  asio::awaitable<void, Strand> Recover(ErrorCode error, Pause& pause) {
    if (error == asio::error::connection_aborted) co_return;
    shared_.log.Warn("a connection could not be accepted", {{"error", error.message()}});
    CloseLongestIdle();
    pause.expires_after(std::chrono::milliseconds(100));
    ErrorCode ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable_t<Strand>(), ignored));
  }

  /// Starts a connection. mutex_ is held, because the connection may end and call Ended() on
  /// another thread before `place` is set.
  void Begin(Socket socket, const Listener& listener) {
    Tune(socket);
    Arrival arrival{ClientName(socket), listener.on_loopback};
    const std::lock_guard lock(mutex_);
    const auto place = connections_.emplace(connections_.end());
    *place = StartConnection(std::move(socket), std::move(arrival), shared_,
                             [this, place] { Ended(place); });
  }

  void Ended(Connections::iterator place) {
    const std::lock_guard lock(mutex_);
    connections_.erase(place);
    room_.notify_all();
  }

  bool HasRoom() const {
    const std::lock_guard lock(mutex_);
    return connections_.size() < shared_.options.limits.connections;
  }

  void CloseLongestIdle() {
    const std::lock_guard lock(mutex_);
    const auto longest = std::ranges::min_element(
        connections_, {}, [](const auto& connection) { return connection->IdleSince(); });
    if (longest != connections_.end()) (*longest)->CloseIfIdle(kQuietTime);
  }

  Shared shared_;
  /// A list, because threads and strands keep references to the loops.
  std::list<Loop> loops_;
  /// Accepts connections for all listeners, on a thread of its own.
  Loop accepting_;
  std::atomic<std::size_t> turns_ = 0;
  std::list<Listener> listeners_;
  std::string unix_path_;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
  /// Guards connections_. Ended() takes it on the thread of a connection.
  mutable std::mutex mutex_;
  /// Notified when a connection has ended.
  std::condition_variable room_;
  Connections connections_;
};

Server::Server(ServerOptions options, const log::Logger& log)
    : impl_(std::make_unique<Impl>(std::move(options), log)) {}

Server::~Server() {
  Stop();
}

Result<std::string> Server::Listen(const std::string& address) {
  return impl_->Listen(address);
}
Status Server::ListenUnix(const std::string& path) {
  return impl_->ListenUnix(path);
}
void Server::Start() {
  impl_->Start();
}
void Server::Drain() {
  impl_->Drain();
}
bool Server::AwaitIdle(Duration time) {
  return impl_->AwaitIdle(time);
}
void Server::Stop() {
  impl_->Stop();
}
std::size_t Server::connections() const {
  return impl_->connections();
}

}  // namespace polybox::http

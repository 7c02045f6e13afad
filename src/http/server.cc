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
using ErrorCode = boost::system::error_code;
using std::chrono::steady_clock;

// The kernel's own bound (net.core.somaxconn) is usually lower.
constexpr int kBacklog = 4096;

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

/// What a peer is called that brings no token.
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

/// For a peer that vanishes without a word, and answers that do not wait for more.
void Tune(Socket& socket) {
  ErrorCode ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

/// Whether a socket is there that nobody listens on any more.
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
    POLYBOX_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
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
      acceptors_.push_back(std::move(acceptor));
      return JoinAddress({parts.host, std::to_string(bound.port())});
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
    acceptors_.push_back(std::move(acceptor));
    unix_path_ = path;
    return {};
  }

  void Start() {
    for (Acceptor& acceptor : acceptors_) {
      asio::co_spawn(
          acceptor.get_executor(), [this, &acceptor] { return Accept(acceptor); }, asio::detached);
    }
    for (Loop& loop : loops_) threads_.emplace_back([this, &loop] { Work(loop); });
    threads_.emplace_back([this] { Work(accepting_); });
  }

  void Drain() {
    shared_.draining = true;
    for (Acceptor& acceptor : acceptors_) {
      asio::post(acceptor.get_executor(), [&acceptor] {
        ErrorCode ignored;
        acceptor.close(ignored);
      });
    }
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) connection->CloseIfIdle();
    room_.notify_all();
  }

  bool AwaitIdle(Duration time) {
    std::unique_lock lock(mutex_);
    return room_.wait_for(lock, time, [this] { return connections_.empty(); });
  }

  void Stop() {
    if (stopped_) return;
    stopped_ = true;
    Drain();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& connection : connections_) connection->Abort();
    }
    // Each ends as soon as its door has returned.
    if (!threads_.empty()) AwaitIdle(std::chrono::seconds(5));
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

  /// What one thread waits for. Each has its own, and a connection stays with one of them: threads
  /// that share one hand every step of a connection to each other.
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  };

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
    // [::] is for both families.
    if (v6) acceptor.set_option(asio::ip::v6_only(false), ignored);
    // A Unix socket gets this mode when it is bound; others have none.
    if (::fchmod(acceptor.native_handle(), S_IRUSR | S_IWUSR) != 0) {
      return {errno, boost::system::system_category()};
    }
    acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(kBacklog, error);
    return error;
  }

  void Work(Loop& loop) {
    while (true) {
      try {
        loop.io.run();
        return;
      } catch (const std::exception& failure) {
        shared_.log.Error("a thread of the server goes on after an exception",
                          {{"what", failure.what()}});
      }
    }
  }

  asio::awaitable<void, Strand> Accept(Acceptor& acceptor) {
    asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, Strand> pause(
        acceptor.get_executor());
    while (!shared_.draining) {
      ErrorCode error;
      auto token = asio::redirect_error(asio::use_awaitable_t<Strand>(), error);
      Socket socket(NextStrand());
      co_await acceptor.async_accept(socket, token);
      // It waits, and the rest in the kernel, until another connection ends.
      while (!error && !HasRoom() && !shared_.draining) {
        CloseLongestIdle();
        pause.expires_after(std::chrono::milliseconds(10));
        co_await pause.async_wait(token);
      }
      if (!error) {
        Begin(std::move(socket));
      } else if (error != asio::error::operation_aborted) {
        co_await Recover(error, pause);
      }
    }
  }

  /// Out of descriptors or memory: what is idle makes room.
  template <typename Pause>
  asio::awaitable<void, Strand> Recover(ErrorCode error, Pause& pause) {
    if (error == asio::error::connection_aborted) co_return;
    shared_.log.Warn("a connection could not be accepted", {{"error", error.message()}});
    CloseLongestIdle();
    pause.expires_after(std::chrono::milliseconds(100));
    ErrorCode ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable_t<Strand>(), ignored));
  }

  void Begin(Socket socket) {
    Tune(socket);
    std::string client = ClientName(socket);
    const std::lock_guard lock(mutex_);
    const auto place = connections_.emplace(connections_.end());
    *place = StartConnection(std::move(socket), std::move(client), shared_,
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
    if (longest != connections_.end()) (*longest)->CloseIfIdle();
  }

  Shared shared_;
  std::list<Loop> loops_;
  Loop accepting_;
  std::atomic<std::size_t> turns_ = 0;
  std::list<Acceptor> acceptors_;
  std::string unix_path_;
  std::vector<std::thread> threads_;
  bool stopped_ = false;
  mutable std::mutex mutex_;
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

// The HTTP server: listens, reads requests within limits, calls their doors and writes the answers.
// Supports HTTP/1.1 with keep-alive; one request at a time per connection. The server has threads
// of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "http/exchange.h"
#include "http/sites.h"
#include "http/tokens.h"

namespace polybox::http {

/// How long a client may take. Each timeout bounds how long a slow or dead client holds a
/// connection.
struct Timeouts {
  /// From the first byte of a request to the end of its head. For the first request of a connection
  /// the time begins with the connection.
  Duration head = std::chrono::seconds(10);
  /// From the first byte to the end of the body.
  Duration request = std::chrono::seconds(30);
  /// Between two requests.
  Duration idle = std::chrono::seconds(30);
  /// For each piece of an answer that the server passes to the kernel.
  Duration write = std::chrono::seconds(30);
  /// How long the server reads on after an answer that ends the connection, while the client may
  /// still send.
  Duration linger = std::chrono::seconds(1);
};

struct Limits {
  /// The usual size in other servers; enough for cookies and tokens many times over.
  std::uint32_t head = 64 * 1024;
  std::size_t fields = 100;
  /// For routes without a limit of their own.
  std::size_t body = 1024 * 1024;
  /// For the bodies of all requests together, from their first byte to their answer: twice the
  /// largest upload. The client of a request for which no memory is left is told to try again.
  std::size_t bodies = 512 * 1024 * 1024;
  /// The largest unwanted body that the server reads and drops in order to keep the connection.
  std::size_t unwanted_body = 256 * 1024;
  /// The bytes of an answer in parts that the client has not read. Above this limit the client
  /// counts as gone.
  std::size_t waiting_parts = 4 * 1024 * 1024;
  std::size_t connections = 1024;
};

/// The facts about a finished request, for the log and the metrics. Valid only during the call of
/// `observe`.
struct Served {
  std::string_view door;
  /// The path of the request's route, such as "/download/*"; "" when there was none.
  std::string_view route;
  std::string_view method;
  std::string_view path;
  std::string_view id;
  std::string_view client;
  /// A language id of the catalog; "" when the request ran no program.
  std::string_view language;
  /// The result of the run, or why the request was refused.
  std::string_view outcome;
  /// The status of the answer; 499 when the client went away before it.
  int status = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  /// From the end of the request's head to the end of the answer.
  Duration time{};
  /// The level of the request's log line.
  log::Level log_level = log::Level::kInfo;
};

struct ServerOptions {
  std::vector<Door> doors;
  Tokens tokens;
  /// Which web pages may send requests.
  Sites sites;
  Timeouts timeouts;
  Limits limits;
  /// The number of threads for connections. 0: one for each core, but at least 2 and at most 8.
  std::size_t threads = 0;
  /// Called after each request, on any thread; may be null.
  std::function<void(const Served&)> observe;
};

class Server {
 public:
  Server(ServerOptions options, const log::Logger& log);
  /// Calls Stop().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens on "HOST:PORT"; port 0 chooses a free port. Returns the address with the actual port.
  /// Call before Start().
  Result<std::string> Listen(const std::string& address);
  /// Listens on a Unix socket, to which only this process's user may connect. Replaces a socket of
  /// this name on which no process listens. Call before Start().
  Status ListenUnix(const std::string& path);
  /// Starts the threads that answer requests. Call after the last Listen() or ListenUnix().
  void Start();

  /// From now on every connection is closed after its answer; AwaitIdle() closes idle connections.
  /// New connections are accepted until Stop(). Requests that would start or write something are
  /// refused with kDraining. Answers that only their client ends (AnswerEnd) end now.
  void Drain();
  /// Closes connections that have been idle for a quarter of a second. Waits until no remaining
  /// connection may carry a request; returns false when `time` passes first. Call after Drain(),
  /// repeatedly until it returns true.
  bool AwaitIdle(Duration time);
  /// Closes all connections at once and joins the threads.
  void Stop();

  std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polybox::http

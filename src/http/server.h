// The HTTP server: listens, reads requests within limits, finds their door, writes the answers.
// Speaks HTTP/1.1 with keep-alive; one request of a connection at a time. Threads of its own.
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
#include "http/tokens.h"

namespace polybox::http {

/// How long a client may take; each bounds what a slow or dead one can hold.
struct Timeouts {
  /// From the first byte of a request (of a connection: from its start) to the end of its head.
  Duration head = std::chrono::seconds(10);
  /// From the first byte to the end of the body.
  Duration request = std::chrono::seconds(30);
  /// Between two requests.
  Duration idle = std::chrono::seconds(30);
  /// For each piece of an answer that we hand to the kernel.
  Duration write = std::chrono::seconds(30);
  /// After an answer that ends the connection while the client may still be sending.
  Duration linger = std::chrono::seconds(1);
};

struct Limits {
  /// As most servers have it; cookies and tokens fit many times.
  std::uint32_t head = 64 * 1024;
  std::size_t fields = 100;
  /// Of routes that name none.
  std::size_t body = 1024 * 1024;
  /// Of all requests together, from their first byte to their answer: twice the largest upload. One
  /// that finds no room is told to try again.
  std::size_t bodies = 512 * 1024 * 1024;
  /// What a fault may read and drop to keep the connection.
  std::size_t unwanted_body = 256 * 1024;
  /// Of an answer in parts that the client does not take; past it the client counts as gone.
  std::size_t waiting_parts = 4 * 1024 * 1024;
  std::size_t connections = 1024;
};

/// What is known of a request once it is over.
struct Served {
  std::string_view door;
  /// The path of its route: "/download/*"; "" when there was none.
  std::string_view route;
  std::string_view method;
  std::string_view path;
  std::string_view id;
  std::string_view client;
  /// 499 when the client went away first.
  int status = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  /// From the end of its head to the end of the answer.
  Duration time{};
};

struct ServerOptions {
  std::vector<Door> doors;
  Tokens tokens;
  /// Need no token; "GET /health".
  std::vector<std::string> open;
  Timeouts timeouts;
  Limits limits;
  /// 0: as many as there are cores, at least 2, at most 8.
  std::size_t threads = 0;
  /// Called on any thread; may be null.
  std::function<void(const Served&)> observe;
};

class Server {
 public:
  Server(ServerOptions options, const log::Logger& log);
  /// Stops.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "HOST:PORT"; port 0 takes a free one. Returns the address as it is.
  Result<std::string> Listen(const std::string& address);
  /// A stale socket of that name is replaced; only our own user may connect.
  Status ListenUnix(const std::string& path);
  /// Begins to answer. After the last Listen.
  void Start();

  /// Accepts nothing more, closes idle connections, and every other after its answer.
  void Drain();
  /// Waits until no connection is left; false when `time` was up first. After Drain.
  bool AwaitIdle(Duration time);
  /// Closes everything at once.
  void Stop();

  std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polybox::http

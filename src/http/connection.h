// One connection of a client: reads a request, calls the door that answers it, writes the answer,
// and repeats. Each connection runs on a strand of its own. Only connection.cc uses Beast.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include "http/body_memory.h"
#include "http/router.h"
#include "http/server.h"

namespace polybox::http {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Strand>;

/// What all connections of a server share. Must outlive all connections.
struct Shared {
  Shared(ServerOptions server_options, const log::Logger& logger)
      : options(std::move(server_options)),
        router(std::move(options.doors)),
        log(logger),
        bodies(std::make_shared<BodyMemory>(options.limits.bodies)) {}

  /// Not changed while connections exist, so all threads may read it.
  ServerOptions options;
  Router router;
  log::Logger log;
  /// A shared_ptr, because a door may keep a request's body longer than the server lives.
  std::shared_ptr<BodyMemory> bodies;
  /// Threads for door handlers of requests with large bodies, so that the other connections of a
  /// loop need not wait.
  mutable boost::asio::thread_pool large{2};
  std::atomic<bool> draining = false;
  /// True when no connections are accepted any more.
  std::atomic<bool> stopping = false;
};

class Connection {
 public:
  virtual ~Connection() = default;
  /// The time since when the connection has waited for a request; the far future while it serves
  /// one. Any thread.
  virtual std::chrono::steady_clock::time_point IdleSince() const = 0;
  /// Closes the connection if it has been idle for `time` when its strand handles this. Any thread.
  virtual void CloseIfIdle(std::chrono::steady_clock::duration time) = 0;
  /// Ends an answer that otherwise only the client ends (AnswerEnd). Call after `Shared::draining`
  /// is set. Any thread.
  virtual void Drain() = 0;
  /// Closes the connection even during a request. Any thread.
  virtual void Abort() = 0;
};

/// Serves requests until the connection ends, then calls `ended` once, on any thread.
std::shared_ptr<Connection> StartConnection(Socket socket, Arrival arrival, const Shared& shared,
                                            std::function<void()> ended);

}  // namespace polybox::http

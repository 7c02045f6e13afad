// One connection: reads a request, has its door answer it, writes the answer, again. Runs on its
// own strand. The only file that knows Beast is connection.cc.
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

/// What all connections of a server share; outlives them.
struct Shared {
  Shared(ServerOptions server_options, const log::Logger& logger)
      : options(std::move(server_options)),
        router(std::move(options.doors)),
        log(logger),
        bodies(std::make_shared<BodyMemory>(options.limits.bodies)) {}

  ServerOptions options;
  Router router;
  log::Logger log;
  /// Doors may keep a request for longer than the server lives.
  std::shared_ptr<BodyMemory> bodies;
  /// Where doors take requests that take them long, for other connections not to wait.
  mutable boost::asio::thread_pool large{2};
  std::atomic<bool> draining = false;
};

class Connection {
 public:
  virtual ~Connection() = default;
  /// Since when it has been waiting for a request; the far future when it is not.
  virtual std::chrono::steady_clock::time_point IdleSince() const = 0;
  /// Closes it if it is idle by then. Any thread.
  virtual void CloseIfIdle() = 0;
  /// Closes it whatever it does. Any thread.
  virtual void Abort() = 0;
};

/// Runs until the connection ends and then calls `ended` once, on any thread. `client` is what the
/// peer is called when it brings no token.
std::shared_ptr<Connection> StartConnection(Socket socket, std::string client, const Shared& shared,
                                            std::function<void()> ended);

}  // namespace polybox::http

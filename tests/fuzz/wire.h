// A connection of the server without a network: a pair of sockets in one process and one thread.
#pragma once

#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "http/connection.h"

namespace polybox::fuzz {

/// The server's end of a socket and the client's, neither of which waits.
class Wire {
 public:
  explicit Wire(boost::asio::io_context& io) : server_(boost::asio::make_strand(io)) {
    int ends[2] = {-1, -1};
    Check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
          "a pair of sockets can be made");
    client_ = UniqueFd(ends[0]);
    server_.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
  }

  http::Socket TakeServer() { return std::move(server_); }
  void Send(std::string_view text) {
    if (!text.empty())
      static_cast<void>(::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL));
  }
  void EndSending() { ::shutdown(client_.get(), SHUT_WR); }
  /// Whether there was anything.
  bool Receive(std::string& into) {
    char buffer[16384];
    const ssize_t count = ::recv(client_.get(), buffer, sizeof buffer, 0);
    if (count > 0) into.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

 private:
  http::Socket server_;
  UniqueFd client_;
};

/// Lets the server work until it has nothing to do, or its connection has ended.
inline void Work(boost::asio::io_context& io, Wire& wire, std::string& received,
                 const bool& ended) {
  for (int idle = 0; idle < 3 && !ended;) {
    const bool busy = io.poll() > 0;
    const bool news = wire.Receive(received);
    idle = busy || news ? 0 : idle + 1;
  }
  while (wire.Receive(received)) {
  }
}

}  // namespace polybox::fuzz

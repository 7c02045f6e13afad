#include "net/tunnel.h"

#include <array>
#include <cerrno>
#include <poll.h>

#include <sys/socket.h>

namespace polybox::net {
namespace {

constexpr std::size_t kBuffer = 65536;

/// One direction of the tunnel.
struct Flow {
  int from;
  int to;
  std::string pending;
  bool from_ended = false;
  bool closed = false;

  bool WantsInput() const { return !from_ended && pending.empty(); }
  bool WantsOutput() const { return !pending.empty(); }

  /// Reads into `pending` and sets `taken` to the number of bytes read. Returns false when the
  /// connection is broken.
  bool Take(std::uint64_t& taken) {
    std::array<char, kBuffer> buffer;
    const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) from_ended = true;
    pending.assign(buffer.data(), static_cast<std::size_t>(count));
    taken = static_cast<std::uint64_t>(count);
    return true;
  }

  bool Give() {
    const ssize_t count = ::send(to, pending.data(), pending.size(), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    pending.erase(0, static_cast<std::size_t>(count));
    return true;
  }

  /// Tells the other side that this side has ended. The other side may still send.
  void PassOnEnd() {
    if (!from_ended || !pending.empty() || closed) return;
    ::shutdown(to, SHUT_WR);
    closed = true;
  }
};

short Events(const Flow& in, const Flow& out) {
  return static_cast<short>((in.WantsInput() ? POLLIN : 0) | (out.WantsOutput() ? POLLOUT : 0));
}

}  // namespace

void RunTunnel(TunnelOptions options) {
  Flow up = {options.client, options.server, std::move(options.to_server)};
  Flow down = {options.server, options.client, std::move(options.to_client)};
  const auto idle = std::chrono::ceil<std::chrono::milliseconds>(options.idle_time).count();
  while (!up.closed || !down.closed) {
    // A side that needs no events is left out: poll() would otherwise report its hang-up without
    // end.
    const short client = Events(up, down);
    const short server = Events(down, up);
    std::array<pollfd, 3> polled = {pollfd{options.stop, POLLIN, 0},
                                    pollfd{client == 0 ? -1 : options.client, client, 0},
                                    pollfd{server == 0 ? -1 : options.server, server, 0}};
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(idle));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || polled[0].revents != 0) return;
    std::uint64_t out = 0;
    std::uint64_t in = 0;
    if (polled[1].revents != 0 && up.WantsInput() && !up.Take(out)) return;
    if (polled[2].revents != 0 && down.WantsInput() && !down.Take(in)) return;
    if (!options.count(out, in)) return;
    if (up.WantsOutput() && !up.Give()) return;
    if (down.WantsOutput() && !down.Give()) return;
    up.PassOnEnd();
    down.PassOnEnd();
  }
}

}  // namespace polybox::net

// A client that sends exactly the bytes that a test chooses. It waits at most ten seconds for each
// answer.
#pragma once

#include <poll.h>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/unique_fd.h"
#include "http/exchange.h"

namespace polybox::http::testing {

struct Answer {
  int status = 0;
  std::string head;
  std::string body;

  std::string Header(std::string_view name) const {
    const std::string line = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(line);
    if (at == std::string::npos) return "";
    return head.substr(at + line.size(), head.find("\r\n", at + 2) - at - line.size());
  }
};

class RawClient {
 public:
  /// Connects to the port of `address` ("HOST:PORT") at 127.0.0.1.
  explicit RawClient(const std::string& address) {
    fd_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    Connect(reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  static RawClient Unix(const std::string& path) {
    RawClient client;
    client.fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    client.Connect(reinterpret_cast<const sockaddr*>(&to), sizeof to);
    return client;
  }

  bool connected() const { return connected_; }
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void Close() { fd_.reset(); }
  /// Closes the connection with a reset instead of an orderly end.
  void Reset() {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }

  /// Reads the next answer. The status is 0 when the connection ends first. `has_body` is false for
  /// HEAD.
  Answer Read(bool has_body = true) {
    Answer answer;
    std::size_t end = 0;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return answer;
    }
    answer.head = pending_.substr(0, end + 2);
    pending_.erase(0, end + 4);
    answer.status = std::stoi(answer.head.substr(9, 3));
    if (!has_body || answer.status == 204 || answer.status == 100) return answer;
    if (answer.Header("Transfer-Encoding") == "chunked") {
      ReadChunks(answer);
    } else if (!answer.Header("Content-Length").empty()) {
      answer.body = Take(std::stoul(answer.Header("Content-Length")));
    } else {
      answer.body = ReadToEnd();
    }
    return answer;
  }
  /// Reads everything until the server closes the connection.
  std::string ReadToEnd() {
    while (Fill()) {
    }
    return std::exchange(pending_, "");
  }
  /// Returns whether the server closes the connection within `milliseconds` without sending more.
  bool ClosedWithin(int milliseconds) {
    pollfd poll{fd_.get(), POLLIN, 0};
    if (::poll(&poll, 1, milliseconds) != 1) return false;
    char byte = 0;
    return ::recv(fd_.get(), &byte, 1, 0) <= 0;
  }
  /// Returns whether bytes can be read within `milliseconds`.
  bool HasNews(int milliseconds) {
    if (!pending_.empty()) return true;
    pollfd poll{fd_.get(), POLLIN, 0};
    return ::poll(&poll, 1, milliseconds) == 1;
  }
  std::string Take(std::size_t count) {
    while (pending_.size() < count && Fill()) {
    }
    std::string taken = pending_.substr(0, count);
    pending_.erase(0, count);
    return taken;
  }
  int fd() const { return fd_.get(); }

 private:
  RawClient() = default;

  void Connect(const sockaddr* to, socklen_t length) {
    const timeval patience{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    connected_ = ::connect(fd_.get(), to, length) == 0;
  }
  bool Fill() {
    char buffer[16384];
    const ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
  void ReadChunks(Answer& answer) {
    while (true) {
      std::size_t end = 0;
      while ((end = pending_.find("\r\n")) == std::string::npos) {
        if (!Fill()) return;
      }
      const std::size_t size = std::stoul(Take(end + 2), nullptr, 16);
      answer.body += Take(size);
      Take(2);
      if (size == 0) return;
    }
  }

  UniqueFd fd_;
  bool connected_ = false;
  std::string pending_;
};

}  // namespace polybox::http::testing

// A TCP server for tests in a network namespace of their own.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "net/connect.h"

namespace polybox::net::testing {

inline Patience Soon() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(5), -1};
}

inline UniqueFd ListenAt(const HostPort& where) {
  const Address address = Resolve(where).at(0);
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // A new IPv6 address becomes usable a moment after it was added.
  int bound = ::bind(fd.get(), address.get(), address.length);
  for (int i = 0; i < 100 && bound != 0 && errno == EADDRNOTAVAIL; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bound = ::bind(fd.get(), address.get(), address.length);
  }
  EXPECT_EQ(bound, 0) << where.host;
  EXPECT_EQ(::listen(fd.get(), 16), 0);
  return fd;
}

/// Sends its name to each client and then echoes. Serves one client after another.
class Host {
 public:
  Host(std::string name, const HostPort& where)
      : name_(std::move(name)), listener_(ListenAt(where)), thread_([this] { Serve(); }) {}
  ~Host() {
    stop_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  int visitors() const { return visitors_; }
  /// The number of clients whose connection has ended.
  int gone() const { return gone_; }

 private:
  void Serve() {
    while (!stop_) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) continue;
      ++visitors_;
      std::string said = name_ + "\n";
      while (!said.empty() && SendAll(client.get(), said, Soon())) {
        said.resize(4096);
        const ssize_t count = ::recv(client.get(), said.data(), said.size(), 0);
        said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      }
      ++gone_;
    }
  }

  std::string name_;
  UniqueFd listener_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> visitors_ = 0;
  std::atomic<int> gone_ = 0;
  std::thread thread_;
};

}  // namespace polybox::net::testing

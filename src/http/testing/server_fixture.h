// A server with the sample doors on a free port, for the tests of server.h.
#pragma once

#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/await.h"
#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/sample_doors.h"
#include "net/testing/socket_queue.h"

namespace polybox::http::testing {

struct Record {
  std::string door, route, method, path, id, client, language, outcome;
  int status;
  std::uint64_t bytes_in, bytes_out;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerOptions Options() {
    ServerOptions options;
    options.doors = {PlainDoor(held_), JsonDoor()};
    options.observe = [this](const Served& served) {
      const std::lock_guard lock(mutex_);
      records_.push_back({std::string(served.door), std::string(served.route),
                          std::string(served.method), std::string(served.path),
                          std::string(served.id), std::string(served.client),
                          std::string(served.language), std::string(served.outcome), served.status,
                          served.bytes_in, served.bytes_out});
    };
    return options;
  }
  void Start(ServerOptions options) {
    server_ = std::make_unique<Server>(std::move(options), log_);
    Result<std::string> address = server_->Listen("127.0.0.1:0");
    ASSERT_TRUE(address.ok()) << address.error().message();
    address_ = *address;
    server_->Start();
  }
  void Start() { Start(Options()); }

  /// Returns whether memory for a body of 1000 bytes becomes free.
  bool AllRoomIsFree() {
    return polybox::testing::Await(
        [&] { return Ask(Post("/echo", std::string(1000, 'y'))).status == 200; });
  }

  static std::string Get(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
  }
  static std::string Post(const std::string& path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
  }
  Answer Ask(const std::string& request) {
    RawClient client(address_);
    client.Send(request);
    return client.Read();
  }
  /// Waits for the served request with index `n` (from 0) and returns its record.
  Record RecordOf(std::size_t n) {
    Record record = {};
    polybox::testing::Await([&] {
      const std::lock_guard lock(mutex_);
      if (records_.size() <= n) return false;
      record = records_[n];
      return true;
    });
    return record;
  }
  /// Waits until the server has read this many bytes from the client.
  static bool IsRead(const RawClient& client, std::size_t bytes) {
    return polybox::testing::Await([&] { return net::testing::ReadByPeer(client.fd()) >= bytes; });
  }
  bool NoConnectionIsLeft() {
    return polybox::testing::Await([&] { return server_->connections() == 0; });
  }

  std::ostringstream log_text_;
  log::Logger log_ = log::Logger::ToStream(log_text_, {.level = log::Level::kError});
  Held held_;
  std::mutex mutex_;
  std::vector<Record> records_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

}  // namespace polybox::http::testing

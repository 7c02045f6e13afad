// A server with the sample doors on a free port, for the tests of server.h.
#pragma once

#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/server.h"
#include "http/testing/raw_client.h"
#include "http/testing/sample_doors.h"

namespace polybox::http::testing {

struct Record {
  std::string door, route, method, path, id, client;
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
                          std::string(served.id), std::string(served.client), served.status,
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

  /// Whether a body of 1000 bytes finds room at last.
  bool AllRoomIsFree() {
    for (int i = 0; i < 1000; ++i) {
      if (Ask(Post("/echo", std::string(1000, 'y'))).status == 200) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  static std::string Get(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
  }
  static std::string Post(const std::string& path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
  }
  Answer Ask(const std::string& request) {
    RawClient client(address_);
    client.Send(request);
    return client.Read();
  }
  /// The n-th request that was served; waits for it.
  Record RecordOf(std::size_t n) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (records_.size() > n) return records_[n];
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }
  bool NoConnectionIsLeft() {
    for (int i = 0; i < 1000 && server_->connections() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return server_->connections() == 0;
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

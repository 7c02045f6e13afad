// A fake Exchange and a fake Executor for tests of doors. Both record the calls that they get.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "http/exchange.h"

namespace polybox::http::testing {

class FakeExchange : public Exchange {
 public:
  explicit FakeExchange(Request request) : request_(std::move(request)) {}

  const Request& request() const override { return request_; }
  void Respond(Response answer) override {
    ++answers;
    response = std::move(answer);
  }
  void Begin(Response head) override {
    ++answers;
    response = std::move(head);
    streaming = true;
  }
  void Write(std::string_view part) override { written += part; }
  void End() override { ended = true; }
  void OnDisconnect(std::function<void()> gone) override { disconnect = std::move(gone); }
  void Note(RunNote run_note) override { note = std::move(run_note); }

  std::string Header(std::string_view name) const {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }

  Response response;
  int answers = 0;
  bool streaming = false;
  bool ended = false;
  std::string written;
  std::function<void()> disconnect;
  RunNote note;

 private:
  Request request_;
};

class FakeTicket : public exec::Ticket {
 public:
  explicit FakeTicket(int& cancelled) : cancelled_(cancelled) {}
  void Cancel() override { ++cancelled_; }

 private:
  int& cancelled_;
};

/// Answers each request at once with `answer`. Without `answer` it keeps `done`, and the test
/// answers later.
class FakeExecutor : public exec::Executor {
 public:
  std::shared_ptr<exec::Ticket> Submit(exec::Request request, Done done) override {
    requests.push_back(std::move(request));
    if (during) during(requests.back());
    if (answer) {
      done(*answer);
    } else {
      waiting = std::move(done);
    }
    return std::make_shared<FakeTicket>(cancelled);
  }
  exec::LaneLoad Load(std::size_t) const override { return load; }
  void Drain() override {}
  bool AwaitIdle(Duration) override { return true; }
  void CancelAll() override {}

  std::optional<exec::Answer> answer;
  /// Called before the answer, so that a test can send output.
  std::function<void(const exec::Request&)> during;
  std::vector<exec::Request> requests;
  Done waiting;
  exec::LaneLoad load;
  int cancelled = 0;
};

/// Calls the handler of the door's matching route with the request.
inline std::shared_ptr<FakeExchange> Send(const Door& door, Request request) {
  auto exchange = std::make_shared<FakeExchange>(std::move(request));
  const std::string& path = exchange->request().path;
  for (const Route& route : door.routes) {
    const bool below =
        route.path.ends_with("/*") && path.starts_with(route.path.substr(0, route.path.size() - 1));
    if (route.method == exchange->request().method && (route.path == path || below)) {
      route.handler(exchange);
      return exchange;
    }
  }
  exchange->response.status = 0;  // no route
  return exchange;
}

inline Request Post(std::string path, std::string body) {
  Request request;
  request.method = "POST";
  request.path = std::move(path);
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  request.has_content_length = true;
  request.client = "192.0.2.1";
  return request;
}

inline Request Get(std::string path) {
  Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.client = "192.0.2.1";
  return request;
}

}  // namespace polybox::http::testing

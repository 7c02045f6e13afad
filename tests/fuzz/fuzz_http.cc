// The whole way of requests: bytes of a socket, connection, router, doors, answers. Behind the
// doors stands an engine that answers at once with what it was given. The first byte of the input
// says whether a token is needed and where the bytes are cut in two, for short reads.
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/clock.h"
#include "fuzz/answers.h"
#include "fuzz/fuzz.h"
#include "http/connection.h"
#include "http/doors/execute.h"
#include "http/doors/run.h"
#include "http/doors/runtime.h"
#include "http/readiness.h"

namespace polybox::fuzz {
namespace {

namespace asio = boost::asio;

class NoTicket : public exec::Ticket {
 public:
  void Cancel() override {}
};

/// Its program prints itself.
class Echo : public exec::Executor {
 public:
  std::shared_ptr<exec::Ticket> Submit(exec::Request request, Done done) override {
    exec::Report report;
    exec::StepReport& run = report.run.emplace();
    run.out = request.files.empty() ? "" : request.files.front().content;
    run.err = run.combined = request.input;
    for (const jail::InputFile& file : request.files) {
      report.artifacts.push_back({file.name, file.content});
    }
    if (request.on_output) {
      request.on_output(exec::StepKind::kRun, exec::Stream::kOut, run.out);
      request.on_output(exec::StepKind::kRun, exec::Stream::kErr, run.err);
    }
    done(std::move(report));
    return std::make_shared<NoTicket>();
  }
  exec::LaneLoad Load(std::size_t /*lane*/) const override { return {}; }
  void Drain() override {}
  bool AwaitIdle(Duration /*time*/) override { return true; }
  void CancelAll() override {}
};

class EchoCommands : public http::CommandRunner {
 public:
  std::shared_ptr<exec::Ticket> Run(http::CommandRequest request,
                                    exec::Executor::Done done) override {
    exec::Report report;
    report.run.emplace().out = request.argv.front();
    done(std::move(report));
    return std::make_shared<NoTicket>();
  }
};

/// An empty one for every input: what one has uploaded must not be there for the next.
std::shared_ptr<const http::BaseDirectory> EmptyDirectory() {
  static std::shared_ptr<const http::BaseDirectory> directory;
  if (directory != nullptr) {
    const auto entries = directory->List("", 1);
    if (entries.ok() && entries->empty()) return directory;
  }
  auto made = http::BaseDirectory::Open("/nonexistent/polybox-fuzz");
  Check(made.ok(), "a directory can be made");
  directory = std::make_shared<const http::BaseDirectory>(std::move(made).value());
  return directory;
}

std::vector<http::Door> Doors() {
  static Echo engine;
  static EchoCommands commands;
  http::RuntimeOptions runtime;
  runtime.files = EmptyDirectory();
  http::ExecuteOptions execute;
  execute.languages = Languages();
  execute.mode = execute.language = "node";
  execute.largest_body = 2000;
  http::RunOptions run;
  run.languages = execute.languages;
  run.limits.max_body_size = 1000;
  run.metrics = [] { return std::string("up 1\n"); };
  const auto readiness = std::make_shared<http::Readiness>(http::Readiness::Options{});
  return {http::MakeExecuteDoor(engine, std::move(execute),
                                http::MakeCommandHandler(commands, runtime)),
          http::MakeRunDoor(engine, std::move(run)), http::MakeRuntimeDoor(runtime),
          http::MakeReadyDoor(readiness)};
}

http::ServerOptions Options(bool with_token, std::vector<Asked>& asked) {
  http::ServerOptions options;
  options.doors = Doors();
  options.open = {"GET /health"};
  options.limits.body = 500;
  options.limits.unwanted_body = 100;
  options.limits.head = 4000;
  options.limits.fields = 20;
  if (with_token) {
    options.tokens = http::Tokens::Parse("0123456789abcdef\n").value();
  }
  options.observe = [&asked](const http::Served& served) {
    // Nobody was there to be answered, or nothing came in time.
    if (served.status == 499 || served.status == 408) return;
    asked.push_back({std::string(served.method), std::string(served.path), served.status});
  };
  return options;
}

/// The server's end of a socket and the client's, neither of which waits.
class Wire {
 public:
  explicit Wire(asio::io_context& io) : server_(asio::make_strand(io)) {
    int ends[2] = {-1, -1};
    Check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
          "a pair of sockets can be made");
    client_ = UniqueFd(ends[0]);
    server_.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
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

/// Lets the server work until it has nothing to do; false when the connection has ended.
void Work(asio::io_context& io, Wire& wire, std::string& received, const bool& ended) {
  for (int idle = 0; idle < 3 && !ended;) {
    const bool busy = io.poll() > 0;
    const bool news = wire.Receive(received);
    idle = busy || news ? 0 : idle + 1;
  }
  while (wire.Receive(received)) {
  }
}

void Run(std::string_view text) {
  if (text.empty()) return;
  const auto first = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  const std::size_t cut = text.size() * (first >> 1U) / 127;
  std::vector<Asked> asked;
  static const log::Logger kLog = log::Logger::ToStderr({.level = log::Level::kError});
  const http::Shared shared(Options((first & 1U) != 0, asked), kLog);
  asio::io_context io;
  Wire wire(io);
  std::string received;
  bool ended = false;
  const auto connection =
      http::StartConnection(wire.TakeServer(), "fuzz", shared, [&ended] { ended = true; });
  wire.Send(text.substr(0, cut));
  Work(io, wire, received, ended);
  wire.Send(text.substr(cut));
  Work(io, wire, received, ended);
  wire.EndSending();
  Work(io, wire, received, ended);
  Check(ended, "the end of the client is the end of its connection");
  Answers answers(received);
  for (const Asked& each : asked) answers.Take(each);
  Check(answers.empty(), "there is one answer to each request", received);
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

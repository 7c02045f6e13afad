// The whole way of requests: bytes of a socket, connection, router, doors, answers. Behind the
// doors stands an engine that answers at once with what it was given. The first byte of the input
// says whether a token is needed and where the bytes are cut in two, for short reads.
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include <sys/socket.h>

#include "base/clock.h"
#include "base/overloaded.h"
#include "fuzz/answers.h"
#include "fuzz/fuzz.h"
#include "fuzz/wire.h"
#include "http/connection.h"
#include "http/doors/door_table.h"

namespace polybox::fuzz {
namespace {

namespace asio = boost::asio;

class NoTicket : public exec::Ticket {
 public:
  void Cancel() override {}
};

/// An engine whose programs print themselves, and whose commands print their name.
class Echo : public exec::Executor {
 public:
  std::shared_ptr<exec::Ticket> Submit(exec::Request request, Done done) override {
    exec::Report report;
    exec::StepReport& run = report.run.emplace();
    std::visit(Overloaded{[&](const exec::Program& program) {
                            if (!program.files.empty()) run.out = program.files.front().content;
                            for (const jail::InputFile& file : program.files) {
                              report.artifacts.push_back({file.name, file.content});
                            }
                          },
                          [&](const exec::Command& command) { run.out = command.argv.front(); }},
               request.work);
    run.err = run.combined = request.input;
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

std::shared_ptr<const http::BaseDirectory> MakeDirectory() {
  auto made = http::BaseDirectory::Open("/nonexistent/polybox-fuzz");
  Check(made.ok(), "a directory can be made");
  return std::make_shared<const http::BaseDirectory>(std::move(made).value());
}

bool IsEmpty(const http::BaseDirectory& directory) {
  const auto entries = directory.List("", 1);
  return entries.ok() && entries->empty();
}

/// Makes all doors of the table, with limits so low that inputs reach them.
std::vector<http::Door> MakeDoors(std::shared_ptr<const http::BaseDirectory> directory) {
  static Echo engine;
  // Doors add their gauges to the metrics, so new doors need new metrics.
  static std::optional<obs::Metrics> metrics;
  metrics.emplace();
  http::DoorParts parts = {
      .settings = {},
      .executor = engine,
      .metrics = *metrics,
      .readiness = std::make_shared<http::Readiness>(http::Readiness::Options{}),
      .languages = {.available = Languages(), .mode = "node", .language = "node"},
      .files = {.directory = std::move(directory)}};
  parts.settings.run_limits.max_body_size = 1000;
  auto doors = http::MakeDoors(std::move(parts));
  Check(doors.ok(), "the doors can be made");
  for (http::Door& door : *doors) {
    for (http::Route& route : door.routes) {
      if (route.path == "/execute") route.largest_body = 2000;
    }
  }
  return std::move(doors).value();
}

/// Returns doors with an empty base directory: what one input has uploaded must not be there for
/// the next.
std::vector<http::Door> Doors() {
  static std::shared_ptr<const http::BaseDirectory> directory;
  static std::vector<http::Door> doors;
  if (directory != nullptr && IsEmpty(*directory)) return doors;
  // A process has one private directory at a time, so its owners go before the next is made.
  doors.clear();
  directory.reset();
  directory = MakeDirectory();
  doors = MakeDoors(directory);
  return doors;
}

http::ServerOptions Options(bool with_token, std::vector<Asked>& asked) {
  http::ServerOptions options;
  options.doors = Doors();
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
  const auto connection = http::StartConnection(wire.TakeServer(), {.client = "fuzz"}, shared,
                                                [&ended] { ended = true; });
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

#include "obs/span_exporter.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "base/printable.h"
#include "base/unique_fd.h"
#include "net/connect.h"
#include "obs/span_json.h"

namespace polybox::obs {
namespace {

using std::chrono::steady_clock;

constexpr std::uint16_t kUsualPort = 4318;
/// A collector answers with a few header fields.
constexpr Bytes kLargestHeader = Bytes::KiB(16);

/// Sends one request. Fails if the collector does not answer with a status of success.
Status Post(const CollectorUrl& collector, const std::string& body, const net::Patience& patience) {
  const std::vector<net::Address> addresses = net::Resolve(collector.target);
  if (addresses.empty()) return Error(ErrorKind::kUnavailable, "the host has no address");
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd socket, net::ConnectToAny(addresses, patience));
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n",
      collector.path, net::JoinHostPort(collector.target.host, collector.target.port), body.size());
  if (!net::SendAll(socket.get(), head + body, patience)) {
    return Error(ErrorKind::kSystem, "the connection broke");
  }
  std::string rest;
  const std::string answer = net::ReadHeader(socket.get(), kLargestHeader, patience, rest);
  if (answer.starts_with("HTTP/1.1 2") || answer.starts_with("HTTP/1.0 2")) return {};
  return Error(ErrorKind::kSystem, answer.empty()
                                       ? "there was no answer"
                                       : Printable(answer.substr(0, answer.find('\r')), 80));
}

}  // namespace

Result<CollectorUrl> ParseCollectorUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  const Error wrong(ErrorKind::kInvalid,
                    "expected http://HOST:PORT of a collector of OTLP over HTTP");
  if (!url.starts_with(kScheme)) return wrong;
  url.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(url.find('/'), url.size());
  const auto target = net::ParseHostPort(url.substr(0, slash), kUsualPort);
  std::string path(url.substr(slash));
  const bool plain = path.find_first_of(" \r\n\t?#") == std::string::npos;
  if (!target || !plain) return wrong;
  while (path.ends_with('/')) path.pop_back();
  return CollectorUrl{*target, path + "/v1/traces"};
}

struct SpanExporter::State {
  State(SpanExporterOptions own, const log::Logger& logger)
      : options(std::move(own)), log(logger), give_up(::eventfd(0, EFD_CLOEXEC)) {}

  /// The loop of the sending thread.
  void Work();
  void Send(const std::vector<Span>& batch);

  const SpanExporterOptions options;
  const log::Logger log;
  /// Readable when the exporter no longer waits.
  const UniqueFd give_up;
  std::mutex mutex;
  std::condition_variable changed;
  // All below are guarded by `mutex`.
  std::deque<Span> queue;
  Counts counts;
  bool started = false;
  bool ending = false;
  bool ended = false;
  bool warned = false;
};

SpanExporter::SpanExporter(SpanExporterOptions options, const log::Logger& log)
    : state_(std::make_shared<State>(std::move(options), log)) {}

SpanExporter::~SpanExporter() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  if (!state_->started) return;
  state_->changed.wait_for(lock, state_->options.flush_time, [this] { return state_->ended; });
  // A request that is under way ends now. The thread owns its state, so nobody waits for it.
  ::eventfd_write(state_->give_up.get(), 1);
}

void SpanExporter::Add(const ToolCall& call) {
  if (call.parent && !call.parent->sampled) return;
  Span span = MakeSpan(call);
  const std::lock_guard lock(state_->mutex);
  if (state_->queue.size() >= state_->options.waiting) {
    ++state_->counts.dropped;
    return;
  }
  state_->queue.push_back(std::move(span));
  if (!std::exchange(state_->started, true)) {
    std::thread([state = state_] { state->Work(); }).detach();
  }
  if (state_->queue.size() == 1 || state_->queue.size() >= state_->options.batch) {
    state_->changed.notify_all();
  }
}

SpanExporter::Counts SpanExporter::counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

void SpanExporter::State::Work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ending || !queue.empty(); });
    // Others may follow soon; one request for many spans is cheaper.
    changed.wait_for(lock, options.pause,
                     [this] { return ending || queue.size() >= options.batch; });
    std::vector<Span> batch;
    while (!queue.empty() && batch.size() < options.batch) {
      batch.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    if (batch.empty()) break;
    lock.unlock();
    Send(batch);
    lock.lock();
  }
  ended = true;
  changed.notify_all();
}

void SpanExporter::State::Send(const std::vector<Span>& batch) {
  const net::Patience patience = {.deadline = steady_clock::now() + options.request_time,
                                  .stop = give_up.get()};
  const Status sent = Post(options.collector, SpansJson(batch, options.version), patience);
  bool tell = false;
  {
    const std::lock_guard lock(mutex);
    (sent.ok() ? counts.sent : counts.failed) += batch.size();
    // One line for each failure after a success, so that a collector that is away fills no log.
    // After the end nobody wants the log, and it may be gone.
    tell = !sent.ok() && !warned && !ending;
    warned = !sent.ok();
  }
  if (tell) {
    log.Warn("could not send spans to the collector",
             {{"collector", options.collector.target.host}, {"why", sent.error().message()}});
  }
}

}  // namespace polybox::obs

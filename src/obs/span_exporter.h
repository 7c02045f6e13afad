// Sends spans of tool calls to a collector by OTLP over HTTP. One thread sends; it starts with the
// first span. A call never waits: if the collector is slow, spans are dropped and counted. Any
// thread may add spans.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "net/address.h"
#include "obs/tool_call.h"

namespace polybox::obs {

/// Where a collector listens.
struct CollectorUrl {
  net::HostPort target;
  /// The path of traces: /v1/traces below the path of the URL.
  std::string path;
};

/// Reads http://HOST[:PORT][/PATH]; the port is 4318 if it is missing. https is refused: a
/// collector on the same machine forwards spans with TLS.
Result<CollectorUrl> ParseCollectorUrl(std::string_view url);

struct SpanExporterOptions {
  CollectorUrl collector;
  /// The version of polybox.
  std::string version = {};
  /// Spans that wait. At 1 KiB a span this is 2 MiB.
  std::size_t waiting = 2048;
  /// Spans in one request, and how long the first of them waits for others.
  std::size_t batch = 512;
  Duration pause = std::chrono::seconds(1);
  /// The time for one request.
  Duration request_time = std::chrono::seconds(5);
  /// The time for the spans that are left when the exporter is destroyed. Clients kill a server
  /// that does not end within 2 s.
  Duration flush_time = std::chrono::milliseconds(700);
};

class SpanExporter {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    /// The collector did not take them.
    std::uint64_t failed = 0;
    /// There was no room for them in the queue.
    std::uint64_t dropped = 0;
  };

  SpanExporter(SpanExporterOptions options, const log::Logger& log);
  /// Sends what waits, for at most `flush_time`.
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  /// Adds the span of a call, unless the client says that its trace is not recorded.
  void Add(const ToolCall& call);
  Counts counts() const;

 private:
  struct State;

  /// Shared with the sending thread, which may outlive the exporter while a resolver hangs.
  std::shared_ptr<State> state_;
};

}  // namespace polybox::obs

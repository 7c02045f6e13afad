#include "obs/span_json.h"

#include <cstring>
#include <random>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/printable.h"

namespace polybox::obs {
namespace {

/// Ids and names are short; a longer one is cut.
constexpr std::size_t kLongestText = 256;
// Values of the protocol.
constexpr int kServerKind = 2;
constexpr int kStatusOk = 1;
constexpr int kStatusError = 2;

std::string Quoted(std::string_view text) {
  return '"' + PrintableForQuotes(text, kLongestText) + '"';
}

/// Returns `digits` random hexadecimal digits, which are not all zero.
std::string RandomId(std::size_t digits) {
  std::string id;
  while (id.size() < digits) {
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = std::random_device()();
    id += fmt::format("{:016x}", bits | 1U);
  }
  id.resize(digits);
  return id;
}

std::string TextAttribute(std::string_view key, std::string_view value) {
  return fmt::format(R"({{"key":"{}","value":{{"stringValue":{}}}}})", key, Quoted(value));
}

/// 64-bit integers are strings in the JSON of OTLP.
std::string IntegerAttribute(std::string_view key, std::int64_t value) {
  return fmt::format(R"({{"key":"{}","value":{{"intValue":"{}"}}}})", key, value);
}

std::string AttributesJson(const ToolCall& call) {
  std::string text = TextAttribute("tool.name", call.tool);
  const auto add = [&text](const std::string& attribute) { text += "," + attribute; };
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(call.time);
  add(TextAttribute("tool.status", NameOf(call.status)));
  add(IntegerAttribute("tool.duration_ms", milliseconds.count()));
  if (!call.language.empty()) add(TextAttribute("tool.language", call.language));
  add(TextAttribute("gen_ai.tool.name", call.tool));
  add(TextAttribute("mcp.method.name", call.method));
  add(TextAttribute("mcp.protocol.version", call.protocol_version));
  add(TextAttribute("jsonrpc.request.id", call.request_id));
  if (call.status != CallStatus::kOk) add(TextAttribute("error.type", "tool_error"));
  return text;
}

std::string SpanJson(const Span& span) {
  const ToolCall& call = span.call;
  const auto start =
      std::chrono::duration_cast<std::chrono::nanoseconds>(call.start.time_since_epoch());
  std::string text = fmt::format(
      R"({{"traceId":"{}","spanId":"{}","name":{},"kind":{},"startTimeUnixNano":"{}")",
      span.trace_id, span.span_id, Quoted("tool." + call.tool), kServerKind, start.count());
  text += fmt::format(R"(,"endTimeUnixNano":"{}")", (start + call.time).count());
  if (call.parent) text += fmt::format(R"(,"parentSpanId":"{}")", call.parent->span_id);
  if (call.parent && !call.trace_state.empty()) {
    text += fmt::format(R"(,"traceState":{})", Quoted(call.trace_state));
  }
  text += fmt::format(R"(,"attributes":[{}],"status":{{"code":{}}}}})", AttributesJson(call),
                      call.status == CallStatus::kOk ? kStatusOk : kStatusError);
  return text;
}

}  // namespace

Span MakeSpan(ToolCall call) {
  Span span;
  span.trace_id = call.parent ? call.parent->trace_id : RandomId(32);
  span.span_id = RandomId(16);
  span.call = std::move(call);
  return span;
}

std::string SpansJson(std::span<const Span> spans, const std::string& version) {
  std::string text = fmt::format(
      R"({{"resourceSpans":[{{"resource":{{"attributes":[{},{}]}},"scopeSpans":[{{"scope":{{)",
      TextAttribute("service.name", "codegen-sandbox"), TextAttribute("service.version", version));
  text += fmt::format(R"("name":"polybox","version":{}}},"spans":[)", Quoted(version));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i != 0) text += ',';
    text += SpanJson(spans[i]);
  }
  return text + "]}]}]}";
}

}  // namespace polybox::obs

#include "tools/observe_calls.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "json/write.h"

namespace polybox::tools {
namespace {

using std::chrono::steady_clock;

/// The size and the hash of a JSON value, without writing it.
struct Measured {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
};

void AddText(std::string_view text, Measured& sum) {
  sum.bytes += text.size();
  // Mixes the hash with an odd constant, so that the order of texts counts.
  sum.hash = (sum.hash ^ std::hash<std::string_view>()(text)) * 0x9E3779B97F4A7C15U;
}

void Measure(const json::Value& value, Measured& sum) {
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) {
      AddText(member.key(), sum);
      Measure(member.value(), sum);
    }
  } else if (const json::Array* array = value.if_array()) {
    for (const json::Value& element : *array) Measure(element, sum);
  } else if (value.is_string()) {
    AddText(value.get_string(), sum);
  } else {
    AddText(json::Write(value), sum);
  }
}

struct BlockSize {
  std::uint64_t operator()(const TextBlock& block) const { return block.text.size(); }
  std::uint64_t operator()(const ImageBlock& block) const { return block.bytes.size(); }
  std::uint64_t operator()(const AudioBlock& block) const { return block.bytes.size(); }
  std::uint64_t operator()(const ResourceBlock& block) const { return block.content.size(); }
  std::uint64_t operator()(const ResourceLinkBlock& block) const { return block.uri.size(); }
};

std::uint64_t ContentSize(const ToolAnswer& answer) {
  std::uint64_t bytes = 0;
  for (const Block& block : answer.content) bytes += std::visit(BlockSize(), block);
  return bytes;
}

std::string_view TextOf(const json::Value& object, std::string_view name) {
  const json::Object* members = object.if_object();
  const json::Value* found = members == nullptr ? nullptr : members->if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_string();
}

std::optional<std::int64_t> NumberOf(const json::Value& object, std::string_view name) {
  const json::Object* members = object.if_object();
  const json::Value* found = members == nullptr ? nullptr : members->if_contains(name);
  if (found == nullptr || !found->is_int64()) return {};
  return found->get_int64();
}

bool IsTrue(const json::Value& object, std::string_view name) {
  const json::Object* members = object.if_object();
  const json::Value* found = members == nullptr ? nullptr : members->if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

bool SaysInError(const ToolAnswer& answer, std::string_view words) {
  return answer.is_error && std::ranges::any_of(answer.content, [&](const Block& block) {
           const auto* text = std::get_if<TextBlock>(&block);
           return text != nullptr && text->text.find(words) != std::string::npos;
         });
}

obs::CallStatus StatusOf(const ToolAnswer& answer, const obs::ToolCall& call) {
  if (call.left_workspace || SaysInError(answer, "is protected")) return obs::CallStatus::kDenied;
  if (answer.is_error) return obs::CallStatus::kError;
  return IsTrue(answer.structured, "timed_out") ? obs::CallStatus::kTimeout : obs::CallStatus::kOk;
}

/// Returns how much new text Edit has put into a file.
std::uint64_t EditedBytes(const json::Value& arguments, const ToolAnswer& answer) {
  const std::int64_t times = NumberOf(answer.structured, "replaced").value_or(1);
  const std::uint64_t bytes = TextOf(arguments, "new_string").size();
  return bytes * static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
}

/// Adds what the metrics of single tools count, from the contract of their data.
void AddDetails(const json::Value& arguments, const ToolAnswer& answer, obs::ToolCall& call) {
  call.left_workspace = SaysInError(answer, "path is outside workspace root");
  call.status = StatusOf(answer, call);
  if (answer.is_error) return;
  if (call.tool == "Read") call.read_bytes = ContentSize(answer);
  if (call.tool == "Write") call.written_bytes = TextOf(arguments, "content").size();
  if (call.tool == "Edit") call.edited_bytes = EditedBytes(arguments, answer);
  if (call.tool == "Bash") call.exit_code = NumberOf(answer.structured, "exit_code");
  // Results name languages by their ids, which are a small set.
  call.language = TextOf(answer.structured, "language");
}

obs::ToolCall Begun(const Tool& tool, const Context& context, const json::Value& arguments) {
  Measured sum;
  Measure(arguments, sum);
  obs::ToolCall call = {.tool = tool.row.name,
                        .status = obs::CallStatus::kError,
                        .principal = context.principal,
                        .workspace = std::string(TextOf(arguments, "workspace")),
                        .method = context.origin.method,
                        .protocol_version = context.origin.protocol_version,
                        .request_id = context.origin.request_id,
                        .parent = obs::ParseTraceParent(context.origin.trace_parent),
                        .trace_state = context.origin.trace_state,
                        .argument_bytes = sum.bytes,
                        .start = std::chrono::system_clock::now()};
  call.arguments_hash = sum.hash;
  return call;
}

}  // namespace

Tool Observed(Tool tool, RecordCall record) {
  const auto observed = [inner = tool, record = std::move(record)](const Context& context,
                                                                   const json::Value& arguments) {
    obs::ToolCall call = Begun(inner, context, arguments);
    const auto begin = steady_clock::now();
    try {
      ToolAnswer answer = inner.call(context, arguments);
      call.time = steady_clock::now() - begin;
      AddDetails(arguments, answer, call);
      Measured sum;
      Measure(answer.structured, sum);
      call.answer_bytes = ContentSize(answer) + sum.bytes;
      record(call);
      return answer;
    } catch (...) {
      // Only a defect throws. The caller answers and logs it.
      call.time = steady_clock::now() - begin;
      record(call);
      throw;
    }
  };
  tool.call = observed;
  return tool;
}

}  // namespace polybox::tools

#include "obs/tool_call.h"

#include <algorithm>

namespace polybox::obs {
namespace {

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceParent> ParseTraceParent(std::string_view text) {
  // 00-<32 digits>-<16 digits>-<2 digits>; later versions may add "-" and more.
  constexpr std::size_t kSize = 55;
  if (text.size() < kSize || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const std::string_view version = text.substr(0, 2);
  const bool longer = text.size() > kSize;
  if (!IsHex(version) || version == "ff") return {};
  if (longer && (version == "00" || text[kSize] != '-')) return {};
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (!IsId(trace) || !IsId(span) || !IsHex(flags)) return {};
  const bool sampled = ((flags[1] <= '9' ? flags[1] - '0' : flags[1] - 'a' + 10) & 1) != 0;
  return TraceParent{std::string(trace), std::string(span), sampled};
}

std::string_view NameOf(CallStatus status) {
  switch (status) {
    case CallStatus::kOk:
      return "ok";
    case CallStatus::kError:
      return "error";
    case CallStatus::kDenied:
      return "denied";
    case CallStatus::kTimeout:
      return "timeout";
  }
  return "error";
}

}  // namespace polybox::obs

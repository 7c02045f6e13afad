#include "http/doors/unknown_members.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/printable.h"

namespace polybox::http {
namespace {

/// A client can send millions of unknown members; the first few show the mistake.
constexpr std::size_t kMostNamed = 10;
constexpr std::size_t kLongestName = 100;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

}  // namespace

void UnknownMembers::Add(std::string_view where, std::string_view key,
                         const std::vector<std::string_view>& known) {
  if (warnings_.size() == kMostNamed) {
    ++more_;
    return;
  }
  // The distance to a long name takes long to compute, and no known member is that long.
  const std::string hint = key.size() > kLongestName ? "" : DidYouMean(Lower(key), known);
  warnings_.push_back(fmt::format("unknown member \"{}{}{}\"{}", where, where.empty() ? "" : ".",
                                  PrintableForQuotes(key, kLongestName), hint));
}

std::vector<std::string> UnknownMembers::Warnings() const {
  std::vector<std::string> warnings = warnings_;
  if (more_ > 0) warnings.push_back(fmt::format("{} more unknown members", more_));
  return warnings;
}

}  // namespace polybox::http

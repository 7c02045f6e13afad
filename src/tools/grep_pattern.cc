#include "tools/grep_pattern.h"

#include <string>

#include <re2/re2.h>

namespace polybox::tools {
namespace {

/// The memory of one expression with its automata. RE2 forgets states when it is used up.
constexpr int kMostMemory = 16 << 20;
/// RE2 cannot search in more at once.
constexpr std::size_t kLargestText = 1U << 30U;

}  // namespace

GrepPattern::GrepPattern(std::unique_ptr<re2::RE2> regex, Reach reach)
    : regex_(std::move(regex)), reach_(reach) {}
GrepPattern::GrepPattern(GrepPattern&&) noexcept = default;
GrepPattern::~GrepPattern() = default;

Result<GrepPattern> GrepPattern::Compile(std::string_view pattern, Case letters, Reach reach) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  options.set_case_sensitive(letters == Case::kMatters);
  // "^" and "$" are the ends of a line.
  const std::string flags = reach == Reach::kLines ? "(?ms:" : "(?m:";
  auto regex = std::make_unique<re2::RE2>(flags + std::string(pattern) + ")", options);
  if (regex->ok()) return GrepPattern(std::move(regex), reach);
  // Compiled again without the flags, so that the error names only what the caller wrote.
  const re2::RE2 as_given(re2::StringPiece(pattern.data(), pattern.size()), options);
  return Error(ErrorKind::kInvalid,
               "regex: " + (as_given.ok() ? regex->error() : as_given.error()));
}

std::optional<GrepPattern::Match> GrepPattern::Find(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (text.size() > kLargestText || !regex_->Match(re2::StringPiece(text.data(), text.size()), from,
                                                   text.size(), re2::RE2::UNANCHORED, &found, 1)) {
    return std::nullopt;
  }
  const auto begin = static_cast<std::size_t>(found.data() - text.data());
  return Match{begin, begin + found.size()};
}

}  // namespace polybox::tools

#include "json/reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace polybox::json {
namespace {

// The number of problems that the error names. A client repairs a few at a time, and a value can
// have millions.
constexpr std::size_t kMostProblems = 8;
// The longest part of a member's name that is shown. The client chooses the name.
constexpr std::size_t kLongestName = 80;

}  // namespace

Reading::Step::Step(Reading& reading, std::string_view member)
    : reading_(reading), length_(reading.path_.size()) {
  reading_.path_ += '.';
  reading_.path_ += Printable(member, kLongestName);
}

Reading::Step::Step(Reading& reading, std::size_t index)
    : reading_(reading), length_(reading.path_.size()) {
  reading_.path_ += fmt::format("[{}]", index);
}

void Reading::Complain(std::string_view problem) {
  if (++count_ <= kMostProblems) problems_.push_back(fmt::format("{} {}", path_, problem));
}

bool Reading::NamesNext() const {
  return count_ < kMostProblems;
}

Error Reading::ToError() const {
  std::string text = fmt::format("{}", fmt::join(problems_, "; "));
  if (count_ > kMostProblems) text += fmt::format("; and {} more", count_ - kMostProblems);
  return {ErrorKind::kInvalid, std::move(text)};
}

}  // namespace polybox::json

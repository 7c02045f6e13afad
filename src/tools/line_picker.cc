#include "tools/line_picker.h"

#include <algorithm>

#include "base/printable.h"

namespace polybox::tools {
namespace {

/// Returns at most `length` bytes from the start, without half a character at the end.
std::string_view WholeCharacters(std::string_view text, std::size_t length) {
  constexpr std::size_t kMostContinued = 3;
  std::string_view cut = text.substr(0, length);
  for (std::size_t i = 0; i < kMostContinued && cut.size() < text.size() && !cut.empty(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[cut.size()]) & 0xc0U) == 0x80U;
    if (!continues) break;
    cut.remove_suffix(1);
  }
  return cut;
}

}  // namespace

void LinePicker::Feed(std::string_view part) {
  while (!part.empty()) {
    const std::size_t end = part.find('\n');
    AddToLine(part.substr(0, end));
    if (end == std::string_view::npos) return;
    part.remove_prefix(end + 1);
    EndLine();
  }
}

void LinePicker::AddToLine(std::string_view part) {
  length_ += part.size();
  if (length_ >= kLongestLine && line_ - first_ < limit_) picked_.too_long = true;
  if (InRange() && !picked_.too_long && !budget_.spent()) current_ += part;
}

void LinePicker::EndLine() {
  if (InRange() && !picked_.too_long && !budget_.spent()) {
    if (current_.ends_with('\r')) current_.pop_back();
    // The number, a tab and the end of the line.
    const std::size_t around = std::to_string(line_).size() + 2;
    const std::size_t left = budget_.left();
    if (budget_.Take(current_.size() + around)) {
      picked_.text += current_ + "\n";
      ++picked_.count;
    } else {
      picked_.over_budget = true;
      // A first line that alone exceeds the budget is shown in part: otherwise no call could ever
      // show it.
      if (picked_.count == 0) {
        const std::string_view shown = WholeCharacters(current_, left - std::min(left, around));
        picked_.cut_bytes = current_.size() - shown.size();
        picked_.text = std::string(shown) + "\n";
        picked_.count = 1;
      }
    }
  }
  current_.clear();
  length_ = 0;
  ++line_;
}

PickedLines LinePicker::Finish() {
  if (length_ > 0) EndLine();
  picked_.total = line_ - 1;
  return std::move(picked_);
}

}  // namespace polybox::tools

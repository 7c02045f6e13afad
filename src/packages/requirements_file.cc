#include "packages/requirements_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::packages {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view Trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

/// Returns the line without its comment. A # begins a comment at the start of the line or after a
/// blank; elsewhere it is part of a word.
std::string_view WithoutComment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || kBlank.find(line[at - 1]) != std::string_view::npos) return line.substr(0, at);
  }
  return line;
}

}  // namespace

Result<std::vector<std::string>> ParseRequirements(std::string_view text, const std::string& name) {
  std::vector<std::string> requirements;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(WithoutComment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (line.front() == '-' || line.back() == '\\') {
      return Error(ErrorKind::kInvalid,
                   fmt::format("{}:{}: \"{}\": expected one requirement; options and continued "
                               "lines are not taken",
                               name, number, PrintableForQuotes(line, 100)));
    }
    requirements.emplace_back(line);
  }
  return requirements;
}

}  // namespace polybox::packages

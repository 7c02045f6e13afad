#include "http/doors/accept.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::http {
namespace {

/// An item of an Accept header. The quality is in thousandths, from 0 (never) to 1000.
struct MediaRange {
  std::string_view type;
  int quality = 1000;
};

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the text up to `separator`, and removes both from `rest`.
std::string_view TakeUpTo(char separator, std::string_view& rest) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return Trimmed(taken);
}

/// Reads a qvalue of RFC 9110, 12.4.2: "0", "0.333" or "1.000".
std::optional<int> ReadQuality(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int quality = (text[0] - '0') * 1000;
  int place = 100;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    quality += (c - '0') * place;
    place /= 10;
  }
  return quality > 1000 ? std::nullopt : std::optional(quality);
}

std::optional<MediaRange> ReadRange(std::string_view item) {
  MediaRange range{.type = TakeUpTo(';', item)};
  const std::size_t slash = range.type.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == range.type.size()) {
    return std::nullopt;
  }
  while (!item.empty()) {
    const std::string_view parameter = TakeUpTo(';', item);
    if (!SameName(parameter.substr(0, 2), "q=")) continue;
    const std::optional<int> quality = ReadQuality(parameter.substr(2));
    if (!quality) return std::nullopt;
    range.quality = *quality;
  }
  return range;
}

/// Returns nothing for a malformed header.
std::optional<std::vector<MediaRange>> ReadAccept(std::string_view accept) {
  std::vector<MediaRange> ranges;
  while (!accept.empty()) {
    const std::string_view item = TakeUpTo(',', accept);
    // RFC 9110, 5.6.1: empty items of a list are skipped.
    if (item.empty()) continue;
    const std::optional<MediaRange> range = ReadRange(item);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

/// Returns the quality of the first of `types` that is listed; 0 if none is.
int QualityOf(const std::vector<MediaRange>& ranges, const std::vector<std::string_view>& types) {
  for (const std::string_view type : types) {
    for (const MediaRange& range : ranges) {
      if (SameName(range.type, type)) return range.quality;
    }
  }
  return 0;
}

}  // namespace

bool PrefersPage(const Request& request) {
  std::string accept;
  for (const auto& [name, value] : request.headers) {
    if (SameName(name, "Accept")) accept += value + ",";
  }
  const std::optional<std::vector<MediaRange>> ranges = ReadAccept(accept);
  if (!ranges) return false;
  return QualityOf(*ranges, {"text/html"}) >
         QualityOf(*ranges, {"application/json", "application/*", "*/*"});
}

}  // namespace polybox::http

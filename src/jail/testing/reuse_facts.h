// What a guest of testing/reuse wrote down, as facts that can be compared: without the parts that
// may differ (reuse_differences.h). Any thread may call these functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jail/testing/reuse_differences.h"

namespace polybox::jail {

inline const Difference* Find(const std::string& key) {
  for (const Difference& difference : kDifferences) {
    const std::string_view start = difference.key;
    const bool whole = start.ends_with('$');
    if (whole ? key == start.substr(0, start.size() - 1) : key.starts_with(start)) {
      return &difference;
    }
  }
  return nullptr;
}

/// Replaces each run of hexadecimal digits by one mark if it contains a decimal digit or is long.
/// Removes spaces, since they fill columns of numbers.
inline std::string WithoutNumbers(std::string_view text) {
  constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kHexadecimal, i), text.size());
    const std::string_view run = text.substr(i, end - i);
    constexpr std::size_t kLong = 5;
    const bool is_number =
        run.size() >= kLong || run.find_first_of("0123456789") != std::string_view::npos;
    if (is_number) {
      out += '#';
    } else {
      const std::string_view plain = run.empty() ? text.substr(i, 1) : run;
      if (plain != " ") out += plain;
    }
    i = std::max(end, i + 1);
  }
  return out;
}

inline std::string KeyOf(const std::string& line) {
  return line.substr(0, line.find('\t'));
}

/// Returns a line whose value is the lines of a file, with these lines sorted.
inline std::string WithSortedLines(const std::string& line) {
  std::vector<std::string> parts;
  std::size_t start = line.find('\t') + 1;
  for (std::size_t end = start; end != std::string::npos; start = end + 2) {
    end = line.find("\\n", start);
    parts.push_back(line.substr(start, end - start));
    if (end == std::string::npos) break;
  }
  std::ranges::sort(parts);
  return fmt::format("{}\t{}", KeyOf(line), fmt::join(parts, "\n"));
}

/// Returns the lines of a probe without the parts that may differ.
inline std::vector<std::string> Facts(const std::string& printed) {
  static std::mutex mutex;
  static std::unordered_map<std::string, const Difference*> known;
  const std::lock_guard lock(mutex);
  std::vector<std::string> facts;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::string key = KeyOf(line);
    const auto [at, added] = known.try_emplace(key, nullptr);
    if (added) at->second = Find(key);
    if (at->second == nullptr) {
      facts.push_back(std::move(line));
    } else if (at->second->compare == Compare::kAllButNumbers) {
      facts.push_back(WithoutNumbers(line));
    } else if (at->second->compare == Compare::kLines) {
      facts.push_back(WithSortedLines(WithoutNumbers(line)));
    } else {
      facts.push_back(key);
    }
  }
  return facts;
}

/// Returns the first lines that differ, each from a little before the difference; empty when all
/// lines are the same.
inline std::string Unlike(const std::vector<std::string>& expected,
                          const std::vector<std::string>& seen) {
  if (expected == seen) return "";
  std::map<std::string, std::string> by_key;
  for (const std::string& line : expected) by_key[KeyOf(line)] = line;
  const std::set<std::string> all(expected.begin(), expected.end());
  std::string text;
  int left = 12;
  for (const std::string& line : seen) {
    if (all.contains(line) || left-- <= 0) continue;
    const std::string& other = by_key[KeyOf(line)];
    const auto at = std::ranges::mismatch(line, other).in1 - line.begin();
    const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - 40, 0));
    text += KeyOf(line) + "\n  expected " + (from < other.size() ? other.substr(from, 200) : "") +
            "\n  found    " + line.substr(from, 200) + "\n";
  }
  if (!text.empty()) return text;
  return fmt::format("{} facts instead of {}, or in another order\n", seen.size(), expected.size());
}

/// Returns whether a line that begins with `start` is in `seen` and not in `expected`.
inline bool HasOther(const std::vector<std::string>& expected, const std::vector<std::string>& seen,
                     std::string_view start) {
  const std::set<std::string> all(expected.begin(), expected.end());
  return std::ranges::any_of(seen, [&](const std::string& line) {
    return line.starts_with(start) && !all.contains(line);
  });
}

}  // namespace polybox::jail

#include "snapshots/text_diff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::snapshots {
namespace {

constexpr std::size_t kContext = 3;
/// Where git looks for a zero byte.
constexpr std::size_t kSearchedForZero = 8000;
/// The search takes time and memory in the square of this number. Texts with more differences are
/// not compared by any reader.
constexpr int kMostEdits = 1500;
constexpr std::size_t kShortId = 7;

using Lines = std::vector<std::string_view>;

/// Each line with its line end.
Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// One line of the result: ' ', '-' or '+'.
struct Edit {
  char sign;
  std::string_view line;
};

/// The shortest edit script of two lists of lines, by the algorithm of Myers.
class Script {
 public:
  Script(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  std::vector<Edit> Make() {
    while (start_ < before_.size() && start_ < after_.size() && before_[start_] == after_[start_]) {
      ++start_;
    }
    while (end_ < before_.size() - start_ && end_ < after_.size() - start_ &&
           before_[before_.size() - 1 - end_] == after_[after_.size() - 1 - end_]) {
      ++end_;
    }
    rows_ = static_cast<int>(before_.size() - start_ - end_);
    columns_ = static_cast<int>(after_.size() - start_ - end_);
    std::vector<Edit> edits;
    for (std::size_t i = 0; i < start_; ++i) edits.push_back({' ', before_[i]});
    AppendMiddle(edits);
    for (std::size_t i = before_.size() - end_; i < before_.size(); ++i) {
      edits.push_back({' ', before_[i]});
    }
    return edits;
  }

 private:
  std::string_view Row(int x) const { return before_[start_ + static_cast<std::size_t>(x)]; }
  std::string_view Column(int y) const { return after_[start_ + static_cast<std::size_t>(y)]; }

  /// Returns the furthest row on diagonal `k` with one more edit than `previous` has. Diagonals
  /// are counted from -edits; `previous` has those of one edit less.
  int Furthest(const std::vector<int>& previous, int edits, int k) const {
    if (edits == 0) return 0;
    const auto at = [&](int diagonal) {
      return previous[static_cast<std::size_t>(diagonal + edits - 1)];
    };
    const bool down = k == -edits || (k != edits && at(k - 1) < at(k + 1));
    return down ? at(k + 1) : at(k - 1) + 1;
  }

  /// Fills `steps_` until the end is reached. Returns whether it was reached in time.
  bool Search() {
    for (int edits = 0; edits <= std::min(rows_ + columns_, kMostEdits); ++edits) {
      std::vector<int> reached(2 * static_cast<std::size_t>(edits) + 1);
      for (int k = -edits; k <= edits; k += 2) {
        int x = Furthest(edits == 0 ? reached : steps_.back(), edits, k);
        while (x < rows_ && x - k < columns_ && x - k >= 0 && Row(x) == Column(x - k)) ++x;
        const int diagonal = k + edits;
        reached[static_cast<std::size_t>(diagonal)] = x;
        if (x >= rows_ && x - k >= columns_) {
          steps_.push_back(std::move(reached));
          return true;
        }
      }
      steps_.push_back(std::move(reached));
    }
    return false;
  }

  void AppendMiddle(std::vector<Edit>& edits) {
    if (!Search()) {
      for (int x = 0; x < rows_; ++x) edits.push_back({'-', Row(x)});
      for (int y = 0; y < columns_; ++y) edits.push_back({'+', Column(y)});
      return;
    }
    std::vector<Edit> reversed;
    int x = rows_;
    int y = columns_;
    for (int count = static_cast<int>(steps_.size()) - 1; count > 0; --count) {
      const std::vector<int>& previous = steps_[static_cast<std::size_t>(count) - 1];
      const int k = x - y;
      const auto at = [&](int diagonal) {
        return previous[static_cast<std::size_t>(diagonal + count - 1)];
      };
      const bool down = k == -count || (k != count && at(k - 1) < at(k + 1));
      const int from_x = down ? at(k + 1) : at(k - 1);
      const int from_y = from_x - (down ? k + 1 : k - 1);
      for (; x > from_x && y > from_y; --x, --y) reversed.push_back({' ', Row(x - 1)});
      if (down) reversed.push_back({'+', Column(--y)});
      if (!down) reversed.push_back({'-', Row(--x)});
    }
    for (; x > 0; --x) reversed.push_back({' ', Row(x - 1)});
    edits.insert(edits.end(), reversed.rbegin(), reversed.rend());
  }

  const Lines& before_;
  const Lines& after_;
  /// Equal lines at the start and at the end.
  std::size_t start_ = 0;
  std::size_t end_ = 0;
  /// The lines between.
  int rows_ = 0;
  int columns_ = 0;
  /// For each number of edits the furthest row on each diagonal.
  std::vector<std::vector<int>> steps_;
};

/// Returns "12,3", as "@@" lines have it: without the count if it is 1, and with the line before if
/// it is 0.
std::string RangeText(std::size_t start, std::size_t count) {
  const std::size_t first = count == 0 ? start : start + 1;
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", first, count);
}

/// Writes the edits [begin, end) as one hunk. The numbers are those of lines before `begin`.
void AppendHunk(const std::vector<Edit>& edits, std::size_t begin, std::size_t end,
                std::size_t old_line, std::size_t new_line, std::string& text) {
  std::size_t old_count = 0;
  std::size_t new_count = 0;
  std::string body;
  for (std::size_t i = begin; i < end; ++i) {
    old_count += edits[i].sign != '+' ? 1 : 0;
    new_count += edits[i].sign != '-' ? 1 : 0;
    body += edits[i].sign;
    body += edits[i].line;
    if (!edits[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  text += fmt::format("@@ -{} +{} @@\n", RangeText(old_line, old_count),
                      RangeText(new_line, new_count));
  text += body;
}

/// Returns the end of the hunk that begins with the change at `change`: after the context of the
/// last change that is near enough.
std::size_t EndOfHunk(const std::vector<Edit>& edits, std::size_t change) {
  std::size_t last = change;
  for (std::size_t i = change; i < edits.size() && i <= last + 2 * kContext + 1; ++i) {
    if (edits[i].sign != ' ') last = i;
  }
  return std::min(last + kContext + 1, edits.size());
}

std::string ModeText(EntryMode mode) {
  return fmt::format("{:06o}", static_cast<std::uint32_t>(mode));
}

std::string ShortId(const std::optional<FileState>& state) {
  return state ? Hex(state->id).substr(0, kShortId) : std::string(kShortId, '0');
}

}  // namespace

std::string QuotedPath(std::string_view prefix, std::string_view path) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < path.size();) {
    const auto byte = static_cast<unsigned char>(path[i]);
    const std::size_t size = Utf8SequenceLength(path.substr(i));
    if (byte == '"' || byte == '\\') {
      text += '\\';
      text += path[i];
    } else if (byte == '\n' || byte == '\t') {
      text += byte == '\n' ? "\\n" : "\\t";
    } else if (size == 0 || byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\{:03o}", byte);
    } else {
      text += path.substr(i, size);
      i += size;
      continue;
    }
    quoted = true;
    ++i;
  }
  return quoted ? fmt::format("\"{}{}\"", prefix, text) : fmt::format("{}{}", prefix, text);
}

std::string DiffHeader(const Change& change) {
  const std::string old_path = QuotedPath("a/", change.path);
  const std::string new_path = QuotedPath("b/", change.path);
  std::string text = fmt::format("diff --git {} {}\n", old_path, new_path);
  std::string mode;
  if (!change.before) {
    text += fmt::format("new file mode {}\n", ModeText(change.after->mode));
  } else if (!change.after) {
    text += fmt::format("deleted file mode {}\n", ModeText(change.before->mode));
  } else if (change.before->mode != change.after->mode) {
    text += fmt::format("old mode {}\nnew mode {}\n", ModeText(change.before->mode),
                        ModeText(change.after->mode));
  } else {
    mode = " " + ModeText(change.after->mode);
  }
  if (change.kind == ChangeKind::kMode) return text;
  text += fmt::format("index {}..{}{}\n", ShortId(change.before), ShortId(change.after), mode);
  return text;
}

std::string Hunks(std::string_view before, std::string_view after) {
  const Lines old_lines = LinesOf(before);
  const Lines new_lines = LinesOf(after);
  const std::vector<Edit> edits = Script(old_lines, new_lines).Make();
  std::string text;
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  std::size_t next = 0;
  while (next < edits.size()) {
    std::size_t change = next;
    while (change < edits.size() && edits[change].sign == ' ') ++change;
    if (change == edits.size()) break;
    // The lines skipped are equal in both texts.
    const std::size_t begin = std::max(next, change - std::min(change, kContext));
    old_line += begin - next;
    new_line += begin - next;
    const std::size_t end = EndOfHunk(edits, change);
    AppendHunk(edits, begin, end, old_line, new_line, text);
    for (std::size_t i = begin; i < end; ++i) {
      old_line += edits[i].sign != '+' ? 1 : 0;
      new_line += edits[i].sign != '-' ? 1 : 0;
    }
    next = end;
  }
  return text;
}

bool IsBinary(std::string_view content) {
  return content.substr(0, kSearchedForZero).find('\0') != std::string_view::npos;
}

}  // namespace polybox::snapshots

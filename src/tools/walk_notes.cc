#include "tools/walk_notes.h"

#include <climits>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::tools {

/// An answer that lacks something says so: the model would otherwise take it for complete.
void NoteWalk(const workspace::FileWalkReport& report, std::vector<std::string>& notes) {
  if (report.end == workspace::WalkEnd::kDeadline) {
    notes.emplace_back("stopped for lack of time: not all files were seen; name a path");
  }
  if (report.end == workspace::WalkEnd::kStopped) notes.emplace_back("stopped by the caller");
  if (report.unread_count == 0) return;
  std::string names;
  for (const std::string& each : report.unread) {
    names += (names.empty() ? "" : "; ") + ShownPath(each);
  }
  if (report.unread_count > report.unread.size()) names += "; ...";
  notes.push_back(fmt::format("{} not read: {}", report.unread_count, names));
}

std::string ShownPath(std::string_view path) {
  return Printable(path, PATH_MAX);
}

std::string NoteLines(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "(" + note + ")\n";
  return text;
}

}  // namespace polybox::tools

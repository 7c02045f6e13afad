#include "workspace/protected_paths.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "schema/reader.h"

namespace polybox::workspace {
namespace {

using schema::Need;
using schema::Reader;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::optional<std::string> CheckText(const std::string& text) {
  return text.empty() ? std::optional<std::string>("expected some text") : std::nullopt;
}

std::optional<std::string> CheckPath(const std::string& path) {
  const std::vector<std::string_view> names = SplitPath(path);
  const bool leads_out = std::ranges::count(names, "..") > 0 || path.starts_with('/');
  if (names.empty() || leads_out) return "expected a relative path without \"..\"";
  return std::nullopt;
}

ProtectedPath::Where WhereOf(const std::string& word) {
  if (word == "root") return ProtectedPath::Where::kRoot;
  return word == "tree" ? ProtectedPath::Where::kTree : ProtectedPath::Where::kEverywhere;
}

ProtectedPath ReadRow(Reader& reader) {
  ProtectedPath row;
  std::string where;
  std::string only;
  reader.Read("path", row.path, Need::kRequired, CheckPath);
  reader.Read("where", where, Need::kRequired, schema::OneOf({"root", "tree", "everywhere"}));
  reader.Read("only", only, Need::kOptional, schema::OneOf({"itself"}));
  reader.Read("reason", row.reason, Need::kRequired, CheckText);
  row.where = WhereOf(where);
  if (only == "itself") row.extent = ProtectedPath::Extent::kItself;
  return row;
}

}  // namespace

Status ProtectedPaths::Add(ProtectedPath row) {
  std::string pattern = Lower(row.path);
  if (row.where != ProtectedPath::Where::kRoot) pattern = "**/" + pattern;
  POLYBOX_ASSIGN_OR_RETURN(Glob glob, Glob::Compile(pattern));
  const std::string last(SplitPath(pattern).back());
  if (last.find_first_of("*?[{") == std::string::npos) {
    last_names_.insert(last);
  } else {
    POLYBOX_ASSIGN_OR_RETURN(Glob last_glob, Glob::Compile(last));
    last_patterns_.push_back(std::move(last_glob));
  }
  for (std::size_t end = row.path.find('/'); end != std::string::npos;
       end = row.path.find('/', end + 1)) {
    const std::size_t prefix = pattern.size() - row.path.size();
    POLYBOX_ASSIGN_OR_RETURN(Glob above, Glob::Compile(pattern.substr(0, prefix + end)));
    above_.push_back({std::move(above), rows_.size()});
  }
  rows_.push_back(std::move(row));
  patterns_.push_back(std::move(glob));
  return {};
}

Result<ProtectedPaths> ProtectedPaths::Parse(std::string_view toml, const std::string& origin) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(toml, origin));
  schema::Problems problems(origin);
  ProtectedPaths paths;
  std::vector<ProtectedPath> rows;
  {
    Reader reader(table, problems);
    reader.Read("dependency_directories", paths.dependency_directories_, Need::kOptional,
                CheckPath);
    for (Reader& row : reader.SubList("path")) rows.push_back(ReadRow(row));
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  for (std::string& name : paths.dependency_directories_) name = Lower(name);
  for (ProtectedPath& row : rows) {
    POLYBOX_RETURN_IF_ERROR(paths.Add(std::move(row)).In(origin));
  }
  return paths;
}

Result<ProtectedPaths> ProtectedPaths::FromSetting(std::string_view setting) {
  if (setting == "off") return ProtectedPaths();
  const EmbeddedFile& file = ProtectionFiles().front();
  POLYBOX_ASSIGN_OR_RETURN(ProtectedPaths paths, Parse(file.content, std::string(file.name)));
  if (setting == "default" || setting.empty()) return paths;
  while (!setting.empty()) {
    const std::size_t comma = std::min(setting.find(','), setting.size());
    const std::string path(setting.substr(0, comma));
    setting.remove_prefix(std::min(comma + 1, setting.size()));
    if (const std::optional<std::string> complaint = CheckPath(path)) {
      return Error(ErrorKind::kInvalid, "protected path \"" + path + "\": " + *complaint +
                                            ", or the word default or off alone");
    }
    POLYBOX_RETURN_IF_ERROR(paths.Add({.path = path,
                                       .where = ProtectedPath::Where::kEverywhere,
                                       .reason = "the settings of polybox protect it"}));
  }
  return paths;
}

const ProtectedPath* ProtectedPaths::FindAbove(std::string_view path) const {
  const std::string lower = Lower(path);
  for (const Above& above : above_) {
    if (above.pattern.Matches(lower)) return &rows_[above.row];
  }
  return nullptr;
}

bool ProtectedPaths::CouldEndWith(std::string_view name) const {
  const std::string lower = Lower(name);
  return last_names_.contains(lower) ||
         std::ranges::any_of(last_patterns_, [&](const Glob& glob) { return glob.Matches(lower); });
}

const ProtectedPath* ProtectedPaths::Find(std::string_view path) const {
  const std::string lower = Lower(path);
  const std::vector<std::string_view> names = SplitPath(lower);
  bool in_dependencies = false;
  std::string prefix;
  for (std::size_t depth = 0; depth < names.size(); ++depth) {
    if (depth > 0) prefix += '/';
    prefix += names[depth];
    const bool whole = depth + 1 == names.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const ProtectedPath& row = rows_[i];
      if (row.extent == ProtectedPath::Extent::kItself && !whole) continue;
      if (row.where == ProtectedPath::Where::kTree && in_dependencies) continue;
      if (patterns_[i].Matches(prefix)) return &row;
    }
    in_dependencies |= std::ranges::count(dependency_directories_, names[depth]) > 0;
  }
  return nullptr;
}

}  // namespace polybox::workspace

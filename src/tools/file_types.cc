#include "tools/file_types.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "schema/reader.h"
#include "tools/data_files.h"

namespace polybox::tools {
namespace {

constexpr std::size_t kShownType = 100;

/// Returns the built-in list. It is read once; a test shows that it can be read.
const Result<FileTypes>& Builtin() {
  static const Result<FileTypes> types =
      ParseFileTypes(DataFiles()[0].content, std::string(DataFiles()[0].name));
  return types;
}

}  // namespace

Result<FileTypes> ParseFileTypes(std::string_view toml, const std::string& origin) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(toml, origin));
  schema::Problems problems(origin);
  FileTypes types;
  {
    schema::Reader reader(table, problems);
    for (schema::Reader& row : reader.SubList("type")) {
      std::vector<std::string> names;
      std::vector<std::string> files;
      row.ReadSome("names", names, schema::Need::kRequired);
      row.ReadSome("files", files, schema::Need::kRequired);
      std::vector<workspace::Glob> globs;
      for (const std::string& file : files) {
        POLYBOX_ASSIGN_OR_RETURN(workspace::Glob glob, workspace::Glob::Compile(file));
        globs.push_back(std::move(glob));
      }
      for (const std::string& name : names) {
        if (!types.emplace(name, globs).second) row.Conflict("names", name + " is listed twice");
      }
    }
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return types;
}

Result<std::vector<workspace::Glob>> FilesOfType(std::string_view type) {
  const Result<FileTypes>& types = Builtin();
  POLYBOX_RETURN_IF_ERROR(types);
  const auto found = types->find(type);
  if (found != types->end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [name, globs] : *types) names.push_back(name);
  std::string known;
  for (const std::string_view name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  return Error(ErrorKind::kInvalid,
               fmt::format("unknown type: {} (valid: {})", Printable(type, kShownType), known));
}

}  // namespace polybox::tools

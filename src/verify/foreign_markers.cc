#include "verify/foreign_markers.h"

#include <algorithm>

#include "schema/reader.h"

namespace polybox::verify {
namespace {

/// Returns the built-in markers. They are read once; a test shows that they can be read.
const Result<std::vector<workspace::Glob>>& Builtin() {
  static const Result<std::vector<workspace::Glob>> markers = ParseForeignMarkers(
      ForeignMarkerFiles().front().content, std::string(ForeignMarkerFiles().front().name));
  return markers;
}

}  // namespace

Result<std::vector<workspace::Glob>> ParseForeignMarkers(std::string_view toml,
                                                         const std::string& origin) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(toml, origin));
  schema::Problems problems(origin);
  std::vector<workspace::Glob> markers;
  {
    schema::Reader reader(table, problems);
    for (schema::Reader& row : reader.SubList("marker")) {
      std::string ecosystem;
      std::vector<std::string> files;
      row.Read("ecosystem", ecosystem, schema::Need::kRequired);
      row.ReadSome("files", files, schema::Need::kRequired);
      for (const std::string& file : files) {
        POLYBOX_ASSIGN_OR_RETURN(workspace::Glob glob, workspace::Glob::Compile(file));
        markers.push_back(std::move(glob));
      }
    }
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return markers;
}

std::vector<std::string> ForeignMarkersIn(const std::vector<std::string>& files) {
  const Result<std::vector<workspace::Glob>>& markers = Builtin();
  std::vector<std::string> found;
  if (!markers.ok()) return found;
  for (const std::string& file : files) {
    const auto matches = [&](const workspace::Glob& glob) { return glob.Matches(file); };
    if (std::ranges::any_of(*markers, matches)) found.push_back(file);
  }
  return found;
}

}  // namespace polybox::verify

// Files beside a language file, such as languages/python/start.py for languages/python.toml. If a
// value of the language file is the text `{file:start.py}`, the content of that file replaces it.
// Programs in a language's own syntax are separate files, so that tools of that language can check
// them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schema/reader.h"

namespace polybox::languages {

/// Contents by path, such as "python/start.py".
using TextFiles = std::map<std::string, std::string, std::less<>>;

/// Returns the name of the folder beside a language file: `python` for "some/where/python.toml".
std::string FolderOf(std::string_view language_file);

/// Replaces such values anywhere in `table` by files of `folder`. Returns the names and contents of
/// these files, one after the other. Together with the text of the language file, they are
/// everything from which the language was read. A missing file is a problem.
std::string PutTextFiles(schema::Table& table, const std::string& folder, const TextFiles& files,
                         schema::Problems& problems);

}  // namespace polybox::languages

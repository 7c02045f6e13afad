#include "languages/text_files.h"

#include <filesystem>
#include <optional>

#include <fmt/format.h>

namespace polybox::languages {
namespace {

using schema::Node;

/// Returns the name in `{file:NAME}`; nothing for any other text.
std::optional<std::string> NamedFile(std::string_view text) {
  constexpr std::string_view kBefore = "{file:";
  if (!text.starts_with(kBefore) || !text.ends_with('}')) return std::nullopt;
  text.remove_prefix(kBefore.size());
  text.remove_suffix(1);
  return std::string(text);
}

/// Walks a table and replaces texts that name a file.
class Putter {
 public:
  Putter(const std::string& folder, const TextFiles& files, schema::Problems& problems)
      : folder_(folder), files_(files), problems_(problems) {}

  void Put(std::vector<Node>& nodes) {
    for (Node& node : nodes) {
      if (auto* text = std::get_if<std::string>(&node.value)) Replace(node.line, *text);
      if (auto* list = std::get_if<schema::List>(&node.value)) Put(*list);
      if (auto* table = std::get_if<schema::Table>(&node.value)) Put(table->entries);
    }
  }

  std::string TakeUsed() { return std::move(used_); }

 private:
  void Replace(int line, std::string& text) {
    const std::optional<std::string> name = NamedFile(text);
    if (!name) return;
    const std::string path = folder_ + "/" + *name;
    const auto file = files_.find(path);
    if (file == files_.end()) {
      problems_.Conflict(line, fmt::format("\"{}\": there is no file {}", text, path));
      return;
    }
    used_ += fmt::format("\n# {}\n{}", path, file->second);
    text = file->second;
  }

  const std::string& folder_;
  const TextFiles& files_;
  schema::Problems& problems_;
  std::string used_;
};

}  // namespace

std::string FolderOf(std::string_view language_file) {
  return std::filesystem::path(language_file).stem().string();
}

std::string PutTextFiles(schema::Table& table, const std::string& folder, const TextFiles& files,
                         schema::Problems& problems) {
  Putter putter(folder, files, problems);
  putter.Put(table.entries);
  return putter.TakeUsed();
}

}  // namespace polybox::languages

#include "json/cache_file.h"

#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "json/parse.h"
#include "json/write.h"

namespace polybox::json {

Object ReadEntries(const std::string& file, std::int64_t format) {
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return {};
  const Result<Value> document = Parse(*text);
  if (!document.ok() || !document->is_object()) return {};
  const Object& root = document->get_object();
  const Value* found = root.if_contains("format");
  const Value* entries = root.if_contains("entries");
  if (found == nullptr || *found != Value(format)) return {};
  return entries != nullptr && entries->is_object() ? entries->get_object() : Object();
}

Status WriteEntries(const std::string& file, std::int64_t format, Object entries) {
  // Without the directory, ReplaceFile() fails and names it.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  return ReplaceFile(file, Write(Object{{"format", format}, {"entries", std::move(entries)}}));
}

}  // namespace polybox::json

#include "languages/toolchain_cache.h"

#include <filesystem>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"

namespace polybox::languages {
namespace {

namespace json = boost::json;

// Raised when the meaning of the file changes: older files are then ignored.
constexpr std::int64_t kFormat = 1;

std::optional<std::string> StringAt(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

std::optional<std::vector<std::string>> StringsAt(const json::object& object,
                                                  std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<std::string> strings;
  for (const json::value& item : value->get_array()) {
    if (!item.is_string()) return std::nullopt;
    strings.emplace_back(item.get_string());
  }
  return strings;
}

}  // namespace

std::string FileStamp(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return path + " -";
  return fmt::format("{} {} {}.{:09}", path, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

ToolchainCache ToolchainCache::Load(const std::string& file) {
  ToolchainCache cache;
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return cache;
  std::error_code error;
  const json::value document = json::parse(*text, error);
  if (error || !document.is_object()) return cache;
  const json::object& root = document.get_object();
  const json::value* format = root.if_contains("format");
  if (format == nullptr || *format != json::value(kFormat)) return cache;
  const json::value* entries = root.if_contains("toolchains");
  if (entries == nullptr || !entries->is_object()) return cache;
  for (const auto& [key, value] : entries->get_object()) {
    if (!value.is_object()) continue;
    const json::object& entry = value.get_object();
    const auto fingerprint = StringAt(entry, "fingerprint");
    const auto stamp = StringAt(entry, "executable_stamp");
    const auto binary = StringAt(entry, "binary");
    const auto executable = StringAt(entry, "executable");
    const auto version = StringAt(entry, "version");
    auto roots = StringsAt(entry, "roots");
    if (!fingerprint || !stamp || !binary || !executable || !version || !roots) continue;
    cache.items_[key] = {*fingerprint, *stamp, {*binary, *executable, std::move(*roots), *version}};
  }
  return cache;
}

std::optional<Toolchain> ToolchainCache::Find(const std::string& key,
                                              const std::string& fingerprint) const {
  const auto found = items_.find(key);
  if (found == items_.end()) return std::nullopt;
  const Item& item = found->second;
  if (item.fingerprint != fingerprint) return std::nullopt;
  if (item.executable_stamp != FileStamp(item.toolchain.executable)) return std::nullopt;
  return item.toolchain;
}

void ToolchainCache::Store(const std::string& key, const std::string& fingerprint,
                           const Toolchain& toolchain) {
  items_[key] = {fingerprint, FileStamp(toolchain.executable), toolchain};
  changed_ = true;
}

Status ToolchainCache::Save(const std::string& file) const {
  if (!changed_) return {};
  json::object entries;
  for (const auto& [key, item] : items_) {
    entries[key] = {
        {"fingerprint", item.fingerprint},   {"executable_stamp", item.executable_stamp},
        {"binary", item.toolchain.binary},   {"executable", item.toolchain.executable},
        {"version", item.toolchain.version}, {"roots", json::value_from(item.toolchain.roots)}};
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  return ReplaceFile(
      file, json::serialize(json::object{{"format", kFormat}, {"toolchains", std::move(entries)}}));
}

}  // namespace polybox::languages

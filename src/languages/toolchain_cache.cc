#include "languages/toolchain_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "json/cache_file.h"

namespace polybox::languages {
namespace {

// The version of the file's format. Files of another version are ignored.
constexpr std::int64_t kFormat = 1;

}  // namespace

std::string FileStamp(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return path + " -";
  return fmt::format("{} {} {}.{:09}", path, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

ToolchainCache ToolchainCache::Load(const std::string& file) {
  ToolchainCache cache;
  cache.items_ = json::ReadCacheFile<Item>(file, kFormat);
  return cache;
}

std::optional<Toolchain> ToolchainCache::Find(const std::string& key,
                                              const std::string& fingerprint) const {
  const auto found = items_.find(key);
  if (found == items_.end()) return std::nullopt;
  const Item& item = found->second;
  if (item.fingerprint != fingerprint) return std::nullopt;
  // The real executable can change while the program on PATH stays the same, as behind a shim.
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
  return json::WriteCacheFile(file, kFormat, items_);
}

}  // namespace polybox::languages

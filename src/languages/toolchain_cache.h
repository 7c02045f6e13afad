// The cache file of toolchain answers, used by toolchain.cc. An answer is valid while its
// fingerprint is the same and the executable that it names is unchanged. The caller makes the
// fingerprint from everything that the answer depends on. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/result.h"
#include "json/member.h"
#include "languages/toolchain.h"

namespace polybox::languages {

/// Returns `path size mtime` of a file, following links. Returns `path -` if it does not exist.
std::string FileStamp(const std::string& path);

class ToolchainCache {
 public:
  /// Reads the file (json/cache_file.h). What cannot be read is asked again.
  static ToolchainCache Load(const std::string& file);

  /// Returns the answer of the key if it is still valid.
  std::optional<Toolchain> Find(const std::string& key, const std::string& fingerprint) const;
  /// Sets the answer of a key, in memory only.
  void Store(const std::string& key, const std::string& fingerprint, const Toolchain& toolchain);
  /// Writes the file if an answer was stored since it was loaded.
  Status Save(const std::string& file) const;

 private:
  struct Item {
    std::string fingerprint;
    std::string executable_stamp;
    Toolchain toolchain;

    static constexpr auto Members() {
      return std::tuple(json::Required("fingerprint", &Item::fingerprint),
                        json::Required("executable_stamp", &Item::executable_stamp),
                        json::Required("toolchain", &Item::toolchain));
    }
  };
  std::map<std::string, Item> items_;
  bool changed_ = false;
};

}  // namespace polybox::languages

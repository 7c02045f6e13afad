// The cache file of toolchain answers. An entry is valid while its fingerprint (made by the caller
// from all that the answer depends on) is the same and the executable it names is unchanged.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "languages/toolchain.h"

namespace polybox::languages {

/// `path size mtime` of a file, following links; `path -` when it is not there.
std::string FileStamp(const std::string& path);

class ToolchainCache {
 public:
  /// A file that is missing, damaged or of another format is an empty cache.
  static ToolchainCache Load(const std::string& file);

  std::optional<Toolchain> Find(const std::string& key, const std::string& fingerprint) const;
  void Store(const std::string& key, const std::string& fingerprint, const Toolchain& toolchain);
  /// Writes the file if anything was stored since it was loaded.
  Status Save(const std::string& file) const;

 private:
  struct Item {
    std::string fingerprint;
    std::string executable_stamp;
    Toolchain toolchain;
  };
  std::map<std::string, Item> items_;
  bool changed_ = false;
};

}  // namespace polybox::languages

#include "compile/compile_key.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/wire.h"
#include "languages/toolchain_cache.h"
#include "limits/table.h"
#include "store/digest.h"

namespace polybox::compile {
namespace {

using wire::Writer;

// Must be changed when the same input should give a new result.
constexpr std::string_view kVersion = "compile 1";

// The compiler's executable is not all: headers, libraries, assembler and linker come from other
// packages. A change of these files means that a package may have been replaced.
constexpr std::array kPackageDatabases = {"/var/lib/dpkg/status", "/lib/apk/db/installed",
                                          "/var/lib/rpm/rpmdb.sqlite", "/var/lib/pacman/local"};

/// Adds the identity of a directory. A set that is installed again is a different directory.
void PutDirectory(Writer& key, const std::string& path) {
  struct stat info{};
  key.Put(path);
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return;
  key.Put(std::uint64_t{info.st_dev});
  key.Put(std::uint64_t{info.st_ino});
  key.Put(std::int64_t{info.st_mtim.tv_sec});
  key.Put(std::int64_t{info.st_mtim.tv_nsec});
}

void PutToolchain(Writer& key, const CompileSight& sight) {
  const languages::Toolchain& toolchain = sight.installation.toolchain;
  key.Put(toolchain.version);
  key.Put(toolchain.roots);
  key.Put(languages::FileStamp(toolchain.executable));
  key.Put(languages::FileStamp(sight.request.argv[0]));
  for (const char* database : kPackageDatabases) key.Put(languages::FileStamp(database));
}

void PutValue(Writer& key, Duration time) {
  key.Put(time.count());
}
void PutValue(Writer& key, Bytes size) {
  key.Put(size.count());
}
void PutValue(Writer& key, std::int64_t count) {
  key.Put(count);
}

/// Adds the limits that a compiler can notice: all times, then all sizes, then all counts, each in
/// the order of limits::kLimits.
void PutLimits(Writer& key, const jail::RunLimits& run) {
  const limits::StepLimits all{run, Bytes()};
  for (const limits::Unit unit : {limits::Unit::kTime, limits::Unit::kSize, limits::Unit::kCount}) {
    for (const limits::Limit& limit : limits::kLimits) {
      if (limit.unit() != unit || !limit.not_in_compile_key.empty()) continue;
      limits::VisitValue(limit, all, [&](const auto& value) { PutValue(key, value); });
    }
  }
}

bool Mentions(const jail::InputFile& file, const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return file.content.find(word) != std::string::npos; });
}

}  // namespace

std::optional<std::string> CompileKey(const CompileSight& sight) {
  const languages::Language& language = sight.installation.language;
  for (const jail::InputFile& file : sight.files) {
    if (Mentions(file, language.compile->changing_words)) return std::nullopt;
  }
  Writer key;
  key.Put(kVersion);
  key.Put(language.id);
  key.Put(language.text);
  PutToolchain(key, sight);
  PutDirectory(key, sight.installation.packages);
  PutDirectory(key, sight.installation.preinstalled);
  PutDirectory(key, sight.installation.prepared);
  key.Put(language.run.read_only);
  key.Put(language.compile->read_only);
  key.Put(sight.grade);
  key.Put(sight.request.argv);
  key.Put(sight.request.env);
  key.Put(sight.request.directory);
  key.Put(sight.request.one_cpu);
  PutLimits(key, sight.request.limits);
  store::Sha256Stream digest;
  digest.Add(key.bytes());
  for (const jail::InputFile& file : sight.files) {
    Writer head;
    head.Put(file.name);
    head.Put(file.mode);
    head.Put(static_cast<std::uint64_t>(file.content.size()));
    digest.Add(head.bytes());
    digest.Add(file.content);
  }
  return digest.Finish();
}

}  // namespace polybox::compile

#include "exec/compile_key.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/stat.h>

#include "exec/digest.h"
#include "jail/init/wire.h"
#include "languages/toolchain_cache.h"

namespace polybox::exec {
namespace {

using jail::init::Writer;

// Changed whenever the same sight should give another result.
constexpr std::string_view kVersion = "compile 1";

// A compiler is more than its executable: headers, libraries, assembler and linker come with other
// packages, which any change of these files may have replaced.
constexpr std::array kPackageDatabases = {"/var/lib/dpkg/status", "/lib/apk/db/installed",
                                          "/var/lib/rpm/rpmdb.sqlite", "/var/lib/pacman/local"};

/// Which directory it is: a set that is installed anew is another.
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

/// Not how long it may take: whoever uses the result looks at how long it took.
void PutLimits(Writer& key, const jail::RunLimits& limits) {
  for (const Bytes size : {limits.memory, limits.swap, limits.address_space, limits.file_size,
                           limits.stack, limits.disk}) {
    key.Put(size.count());
  }
  for (const std::int64_t count : {limits.open_files, limits.processes, limits.inodes}) {
    key.Put(count);
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
  Sha256Stream digest;
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

}  // namespace polybox::exec

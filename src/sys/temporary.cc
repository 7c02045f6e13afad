#include "sys/temporary.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <sys/statvfs.h>

namespace polybox::sys {
namespace {

// /dev/shm is a file system in memory that container runtimes leave writable.
constexpr const char* kUsual[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};

bool IsWritable(const std::string& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

bool MayExecuteIn(const std::string& directory) {
  struct statvfs info{};
  return ::statvfs(directory.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) == 0;
}

std::vector<std::string> TemporaryDirectories() {
  std::vector<std::string> wanted;
  for (const char* name : {"TMPDIR", "XDG_RUNTIME_DIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/') wanted.emplace_back(value);
  }
  wanted.insert(wanted.end(), std::begin(kUsual), std::end(kUsual));
  std::vector<std::string> directories;
  for (const std::string& path : wanted) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && std::ranges::count(directories, real) == 0) directories.push_back(real);
  }
  return directories;
}

std::string TemporaryDirectory() {
  std::vector<std::string> usable = TemporaryDirectories();
  std::erase_if(usable, [](const std::string& directory) { return !IsWritable(directory); });
  const auto best = std::ranges::find_if(usable, MayExecuteIn);
  if (best != usable.end()) return *best;
  return usable.empty() ? "" : usable.front();
}

}  // namespace polybox::sys

#include "sys/disk_space.h"

#include <filesystem>

#include <sys/statvfs.h>

namespace polybox::sys {
namespace {

/// Returns the nearest existing ancestor: a directory that does not exist yet will be made on that
/// disk.
std::string NearestExisting(const std::string& directory) {
  std::filesystem::path path(directory);
  std::error_code error;
  while (!std::filesystem::exists(path, error) && path.has_relative_path()) {
    path = path.parent_path();
  }
  return path.empty() ? "." : path.string();
}

}  // namespace

std::string WrongWithDisk(const std::string& directory, Bytes least) {
  struct statvfs disk{};
  if (::statvfs(NearestExisting(directory).c_str(), &disk) != 0) return "cannot be looked at";
  if (Bytes(std::uint64_t{disk.f_bavail} * disk.f_frsize) < least) return "is full";
  // Some file systems do not count inodes and report 0 for both.
  if (disk.f_files > 0 && disk.f_favail == 0) return "has no inodes left";
  return "";
}

}  // namespace polybox::sys

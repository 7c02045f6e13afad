#include "sys/own_tasks.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

#include "base/files.h"

namespace polybox::sys {
namespace {

/// Returns the number after `key` at the beginning of a line, or -1.
std::int64_t Field(const std::string& status, const std::string& key) {
  const std::size_t at = status.find("\n" + key + ":\t");
  if (at == std::string::npos) return -1;
  return std::strtoll(status.c_str() + at + key.size() + 3, nullptr, 10);
}

}  // namespace

std::int64_t CountOwnTasks() {
  std::int64_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name[0] < '1' || name[0] > '9') continue;
    const std::string status = ReadFile(entry.path().string() + "/status").value_or("");
    if (Field(status, "Uid") == static_cast<std::int64_t>(::getuid())) {
      count += Field(status, "Threads");
    }
  }
  return count;
}

bool SeesAllTasks() {
  // The inode of the initial PID namespace is always this number (PROC_PID_INIT_INO).
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error) == "pid:[4026531836]";
}

}  // namespace polybox::sys

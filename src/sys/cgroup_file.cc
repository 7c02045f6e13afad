#include "sys/cgroup_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace polybox::sys {
namespace {

/// Every file read here is a number or a list of counters. On Linux 6.18 none is over 1 KiB.
constexpr std::size_t kLargestFile = 8192;

Error Garbled(const std::string& path) {
  return Error(ErrorKind::kSystem, fmt::format("read {}: not what the kernel should say", path));
}

}  // namespace

std::optional<std::uint64_t> ParseCgroupNumber(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return number;
}

Result<UniqueFd> OpenDirectory(int parent, const std::string& path) {
  UniqueFd fd(::openat(parent, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Error::FromErrno("open " + path);
  return fd;
}

CgroupDirectory::CgroupDirectory(UniqueFd fd, std::string path, std::string name)
    : fd_(std::move(fd)), path_(std::move(path)), name_(std::move(name)) {}

Result<CgroupDirectory> CgroupDirectory::Make(int parent, const std::string& parent_path,
                                              const std::string& name, OnExisting on_existing) {
  std::string path = parent_path + "/" + name;
  const bool made = ::mkdirat(parent, name.c_str(), 0755) == 0;
  if (!made && (errno != EEXIST || on_existing == OnExisting::kRefuse)) {
    return Error::FromErrno("make cgroup " + path);
  }
  auto fd = OpenDirectory(parent, name);
  if (!fd.ok()) {
    if (made) ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    return std::move(fd).error().In("make cgroup " + path);
  }
  return CgroupDirectory(std::move(fd).value(), std::move(path), name);
}

CgroupDirectory& CgroupDirectory::operator=(CgroupDirectory&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  fd_ = std::move(other.fd_);
  path_ = std::move(other.path_);
  name_ = std::move(other.name_);
  return *this;
}

CgroupDirectory::~CgroupDirectory() {
  Remove();
}

bool CgroupDirectory::RemoveFrom(int parent) const {
  // A reaped process leaves its cgroups a moment later. 1 + 2 + ... + 64 ms is enough for that, and
  // short enough for the end of a server with many slots.
  for (int wait_ms = 1; wait_ms <= 64; wait_ms *= 2) {
    if (::unlinkat(parent, name_.c_str(), AT_REMOVEDIR) == 0) return true;
    if (errno != EBUSY) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
  }
  return false;
}

void CgroupDirectory::Remove() {
  if (!fd_.valid()) return;
  const UniqueFd parent(::openat(fd_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.valid()) RemoveFrom(parent.get());
  fd_.reset();
}

// A cgroup can only be removed when it is empty, so a false result has changed nothing.
Result<bool> CgroupDirectory::Renew() {
  const UniqueFd parent(::openat(fd_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return Error::FromErrno("open the cgroup above " + path_);
  if (!RemoveFrom(parent.get())) return false;
  if (::mkdirat(parent.get(), name_.c_str(), 0755) != 0) {
    return Error::FromErrno("make cgroup " + path_ + " again");
  }
  POLYBOX_ASSIGN_OR_RETURN(fd_, OpenDirectory(parent.get(), name_).In(path_));
  return true;
}

Result<ControlFile> ControlFile::Open(const CgroupDirectory& directory, const char* name,
                                      int flags) {
  std::string path = directory.path() + "/" + name;
  UniqueFd fd(::openat(directory.fd(), name, flags | O_CLOEXEC));
  if (!fd.valid()) return Error::FromErrno("open " + path);
  return ControlFile(std::move(fd), std::move(path));
}

Result<ControlFile> ControlFile::OpenIfThere(const CgroupDirectory& directory, const char* name,
                                             int flags) {
  auto file = Open(directory, name, flags);
  if (file.ok()) return file;
  const int error = file.error().system_errno();
  // The kernel returns EACCES, to root too, for a file that it offers only for reading.
  if (error == ENOENT || error == EACCES) return ControlFile();
  return file;
}

Status ControlFile::Write(std::string_view value) const {
  std::array<char, 128> buffer{};
  if (value.size() + 1 > buffer.size()) return Error(ErrorKind::kInvalid, "value too long");
  std::ranges::copy(value, buffer.begin());
  buffer.at(value.size()) = '\n';
  ssize_t count = 0;
  do {
    count = ::pwrite(fd_.get(), buffer.data(), value.size() + 1, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return Error::FromErrno(fmt::format("write {} to {}", value, path_));
  return {};
}

Result<std::string> ControlFile::Read() const {
  std::array<char, kLargestFile> buffer;
  ssize_t count = 0;
  do {
    count = ::pread(fd_.get(), buffer.data(), buffer.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return Error::FromErrno("read " + path_);
  if (static_cast<std::size_t>(count) == buffer.size()) return Garbled(path_);
  return std::string(buffer.data(), static_cast<std::size_t>(count));
}

Result<std::uint64_t> ControlFile::ReadNumber() const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string text, Read());
  const auto number = ParseCgroupNumber(text);
  if (!number) return Garbled(path_);
  return *number;
}

Result<std::optional<std::uint64_t>> ControlFile::ReadCounter(std::string_view key) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string text, Read());
  return CounterIn(text, key);
}

Result<std::optional<std::uint64_t>> ControlFile::CounterIn(std::string_view text,
                                                            std::string_view key) const {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(key) || line.substr(key.size(), 1) != " ") continue;
    const auto number = ParseCgroupNumber(line.substr(key.size() + 1));
    if (!number) return Garbled(path_);
    return number;
  }
  return std::optional<std::uint64_t>();
}

Status LimitFile::Set(std::int64_t value, const std::string& text) {
  if (written_ == value) return {};
  POLYBOX_RETURN_IF_ERROR(file_.Write(text));
  written_ = value;
  text_ = text;
  return {};
}

Status LimitFile::Rewrite() {
  return written_ ? file_.Write(text_) : Status();
}

}  // namespace polybox::sys

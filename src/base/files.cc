#include "base/files.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace polybox {

Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd.valid()) return Error::FromErrno("open " + path);
  return fd;
}

Result<std::string> ReadAll(int fd, Bytes largest) {
  std::string content;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error::FromErrno("read");
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > largest.count()) {
      return Error(ErrorKind::kInvalid, "read: larger than " + FormatBytes(largest));
    }
  }
}

Result<std::string> ReadFile(const std::string& path, Bytes largest) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  return ReadAll(fd.get(), largest).In(path);
}

Status WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error::FromErrno("write");
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status ReplaceFile(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return Error::FromErrno("create " + temporary);
  Status status = WriteAll(fd.get(), content);
  if (status.ok() && ::fchmod(fd.get(), 0644) != 0) status = Error::FromErrno("chmod");
  // The content must be on the disk before the name refers to it, or a crash could leave a partial
  // file.
  if (status.ok() && ::fsync(fd.get()) != 0) status = Error::FromErrno("sync");
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = Error::FromErrno("rename to " + path);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return std::move(status).In("write " + path);
}

}  // namespace polybox

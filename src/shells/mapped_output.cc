#include "shells/mapped_output.h"

#include <cstring>
#include <unistd.h>

#include <sys/mman.h>

namespace polybox::shells {
namespace {

std::size_t RoundedToPages(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

Result<MappedOutput> MappedOutput::Make(std::string_view head, int fd, std::size_t size) {
  // The head ends where a page ends, so that the file can begin there.
  const std::size_t begin = RoundedToPages(head.size());
  MappedOutput output;
  output.region_size_ = begin + RoundedToPages(size);
  void* region = ::mmap(nullptr, output.region_size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return Error::FromErrno("map the output");
  output.region_ = region;
  char* const file = static_cast<char*>(region) + begin;
  if (!head.empty()) std::memcpy(file - head.size(), head.data(), head.size());
  if (size > 0 && ::mmap(file, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    return Error::FromErrno("map the output");
  }
  output.view_ = {file - head.size(), head.size() + size};
  return output;
}

MappedOutput MappedOutput::Of(std::string text) {
  MappedOutput output;
  output.text_ = std::move(text);
  return output;
}

MappedOutput& MappedOutput::operator=(MappedOutput&& other) noexcept {
  if (this == &other) return *this;
  std::swap(text_, other.text_);
  std::swap(region_, other.region_);
  std::swap(region_size_, other.region_size_);
  std::swap(view_, other.view_);
  return *this;
}

MappedOutput::~MappedOutput() {
  if (region_ != nullptr) ::munmap(region_, region_size_);
}

}  // namespace polybox::shells

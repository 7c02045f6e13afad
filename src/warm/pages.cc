#include "warm/pages.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace polybox::warm {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{2} << 20;

std::string ReadAll(int file) {
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  return text;
}

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_own = false;  ///< Anonymous, private and writable.
};

/// Parses a line of /proc/PID/maps. Returns an empty mapping when the line cannot be parsed.
Mapping Parse(const char* line) {
  unsigned long begin = 0;
  unsigned long end = 0;
  unsigned long inode = 0;
  char rights[8] = {};
  if (std::sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, rights, &inode) != 4) return {};
  return {begin, end, inode == 0 && std::string_view(rights) == "rw-p"};
}

}  // namespace

void UseLargePages(int maps) {
  const std::string text = ReadAll(maps);
  std::size_t end_of_line = 0;
  for (std::size_t at = 0; (end_of_line = text.find('\n', at)) != std::string::npos;
       at = end_of_line + 1) {
    const Mapping mapping = Parse(text.c_str() + at);
    const std::uint64_t begin = (mapping.begin + kLarge - 1) / kLarge * kLarge;
    const std::uint64_t end = mapping.end / kLarge * kLarge;
    if (!mapping.is_own || begin >= end) continue;
    // Where the kernel refuses, the memory stays as it is.
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_COLLAPSE);
  }
}

}  // namespace polybox::warm

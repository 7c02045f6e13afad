// Files that remember answers between runs of polybox: one entry per key, and a format number. A
// file that is missing, damaged or of another format counts as empty. An entry that does not decode
// is left out. The caller then finds the answer again. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "json/bind.h"

namespace polybox::json {

/// Returns the entries of the file, not decoded.
Object ReadEntries(const std::string& file, std::int64_t format);
/// Replaces the file atomically. Makes its directory if necessary.
Status WriteEntries(const std::string& file, std::int64_t format, Object entries);

/// Returns the entries by their keys. T has a function Members() (json/member.h).
template <typename T>
std::map<std::string, T> ReadCacheFile(const std::string& file, std::int64_t format) {
  std::map<std::string, T> entries;
  for (const auto& [key, value] : ReadEntries(file, format)) {
    Result<T> entry = Decode<T>(value, "entry", UnknownMembers::kSkip);
    if (entry.ok()) entries.emplace(key, std::move(entry).value());
  }
  return entries;
}

/// Replaces the file with these entries.
template <typename T>
Status WriteCacheFile(const std::string& file, std::int64_t format,
                      const std::map<std::string, T>& entries) {
  return WriteEntries(file, format, Encode(entries).get_object());
}

}  // namespace polybox::json

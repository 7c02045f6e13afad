// The hosts that trial downloads used, in a file that survives the server. Several servers may
// share the file: the last writer wins, and what is lost is learned again. A file that cannot be
// read or written only costs time. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/address.h"

namespace polybox::registries {

class LearnedHosts {
 public:
  /// `file` may not exist; "" keeps nothing. `clock` must outlive the object.
  explicit LearnedHosts(std::string file, const Clock& clock = Clock::System())
      : file_(std::move(file)), clock_(clock) {}

  /// Returns the hosts of a trial; nothing if there are none or they are too old. `key` has no
  /// spaces.
  std::optional<std::vector<net::HostPort>> Get(const std::string& key) const;
  Status Put(const std::string& key, std::vector<net::HostPort> hosts);

  /// A client may use other hosts after this time.
  static constexpr Duration kValid = std::chrono::hours(24 * 7);

 private:
  struct Entry {
    std::chrono::system_clock::time_point learned;
    std::vector<net::HostPort> hosts;
  };

  /// Returns the entries of the file that are still valid, by key.
  std::map<std::string, Entry> Read() const;
  std::optional<Entry> ParseEntry(std::string_view line) const;

  const std::string file_;
  const Clock& clock_;
  /// Held while the file is replaced.
  std::mutex mutex_;
};

}  // namespace polybox::registries

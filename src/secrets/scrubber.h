// Removes secrets from what agents see. A removed value is replaced by [REDACTED:name]; nothing
// else of the text changes. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/matcher.h"
#include "secrets/secret_store.h"
#include "secrets/shape.h"

namespace polybox::secrets {

struct ScrubberOptions {
  /// Whose values are known; null for none. Must outlive the scrubber.
  SecretStore* store = nullptr;
  std::vector<Shape> shapes = {};
  std::vector<Pattern> patterns = {};
};

class Scrubber {
 public:
  explicit Scrubber(ScrubberOptions options) : options_(std::move(options)) {}

  /// Returns the text without secrets; nothing if it has none.
  std::optional<std::string> Scrub(std::string_view text);
  /// Returns the bytes with "*" in place of each byte of a secret; nothing if they have none. The
  /// length of a picture or an archive must not change.
  std::optional<std::string> Mask(std::string_view bytes, char mask = '*');

  /// What was removed so far.
  struct Counts {
    std::map<std::string, std::uint64_t> hits;
    std::uint64_t bytes = 0;
  };
  Counts counts() const;

 private:
  /// Returns a matcher for the values that are known now.
  std::shared_ptr<const Matcher> Current();
  void Count(const std::vector<Hit>& hits);

  const ScrubberOptions options_;
  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  std::shared_ptr<const std::vector<KnownValue>> known_;
  std::shared_ptr<const Matcher> matcher_;
  Counts counts_;
};

}  // namespace polybox::secrets

#include "secrets/scrubber.h"

#include <utility>

namespace polybox::secrets {

std::shared_ptr<const Matcher> Scrubber::Current() {
  std::shared_ptr<const std::vector<KnownValue>> known;
  if (options_.store != nullptr) known = options_.store->Known();
  const std::lock_guard lock(mutex_);
  if (matcher_ == nullptr || known != known_) {
    matcher_ = std::make_shared<const Matcher>(
        known == nullptr ? std::vector<KnownValue>() : *known, options_.shapes, options_.patterns);
    known_ = std::move(known);
  }
  return matcher_;
}

void Scrubber::Count(const std::vector<Hit>& hits) {
  const std::lock_guard lock(mutex_);
  for (const Hit& hit : hits) {
    ++counts_.hits[std::string(hit.label)];
    counts_.bytes += hit.span.size();
  }
}

Scrubber::Counts Scrubber::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::optional<std::string> Scrubber::Scrub(std::string_view text) {
  const std::shared_ptr<const Matcher> matcher = Current();
  const std::vector<Hit> hits = matcher->Find(text);
  if (hits.empty()) return std::nullopt;
  std::string scrubbed;
  std::size_t done = 0;
  for (const Hit& hit : hits) {
    scrubbed += text.substr(done, hit.span.begin - done);
    scrubbed += "[REDACTED:";
    scrubbed += hit.label;
    scrubbed += ']';
    done = hit.span.end;
  }
  scrubbed += text.substr(done);
  Count(hits);
  return scrubbed;
}

std::optional<std::string> Scrubber::Mask(std::string_view bytes, char mask) {
  const std::shared_ptr<const Matcher> matcher = Current();
  const std::vector<Hit> hits = matcher->Find(bytes);
  if (hits.empty()) return std::nullopt;
  std::string masked(bytes);
  for (const Hit& hit : hits)
    masked.replace(hit.span.begin, hit.span.size(), hit.span.size(), mask);
  Count(hits);
  return masked;
}

}  // namespace polybox::secrets

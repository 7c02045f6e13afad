#include "registries/learned_hosts.h"

#include <charconv>

#include <fmt/format.h>

#include "base/files.h"

namespace polybox::registries {
namespace {

using std::chrono::system_clock;

std::int64_t Seconds(system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Removes the first word of `text` and returns it.
std::string_view TakeWord(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

std::optional<LearnedHosts::Entry> LearnedHosts::ParseEntry(std::string_view line) const {
  const std::string_view time = TakeWord(line);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), seconds);
  if (error != std::errc() || end != time.data() + time.size()) return std::nullopt;
  const std::int64_t age = Seconds(clock_.WallNow()) - seconds;
  if (age < 0 || std::chrono::seconds(age) > kValid) return std::nullopt;
  Entry entry{.learned = system_clock::time_point(std::chrono::seconds(seconds)), .hosts = {}};
  while (!line.empty()) {
    const auto host = net::ParseHostPort(TakeWord(line));
    if (!host) return std::nullopt;
    entry.hosts.push_back(*host);
  }
  return entry;
}

std::map<std::string, LearnedHosts::Entry> LearnedHosts::Read() const {
  std::map<std::string, Entry> entries;
  if (file_.empty()) return entries;
  const Result<std::string> content = ReadFile(file_, Bytes::MiB(1));
  if (!content.ok()) return entries;
  for (std::string_view text = *content; !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string key(TakeWord(line));
    if (const auto entry = ParseEntry(line)) entries[key] = *entry;
  }
  return entries;
}

std::optional<std::vector<net::HostPort>> LearnedHosts::Get(const std::string& key) const {
  const std::map<std::string, Entry> entries = Read();
  const auto found = entries.find(key);
  if (found == entries.end()) return std::nullopt;
  return found->second.hosts;
}

Status LearnedHosts::Put(const std::string& key, std::vector<net::HostPort> hosts) {
  if (file_.empty()) return {};
  const std::lock_guard lock(mutex_);
  std::map<std::string, Entry> entries = Read();
  entries[key] = {clock_.WallNow(), std::move(hosts)};
  std::string content;
  for (const auto& [name, entry] : entries) {
    content += fmt::format("{} {}", name, Seconds(entry.learned));
    for (const net::HostPort& host : entry.hosts) {
      content += " " + net::JoinHostPort(host.host, host.port);
    }
    content += "\n";
  }
  return ReplaceFile(file_, content);
}

}  // namespace polybox::registries

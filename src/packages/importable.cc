#include "packages/importable.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guest_bytes.h"
#include "json/cache_file.h"
#include "languages/toolchain_cache.h"
#include "launch/streams.h"

namespace polybox::packages {
namespace {

// The time limit of the interpreter. With a thousand packages it takes about a second.
constexpr auto kTime = std::chrono::seconds(10);
// The size of the answer: sufficient for the names and directories of ten thousand packages.
constexpr Bytes kOutput = Bytes::MiB(1);
constexpr std::size_t kLongestName = 200;
// The length of a failing interpreter's error output in the log.
constexpr std::size_t kLongestSaid = 300;
// The version of the file's format. Files of another version are ignored.
constexpr std::int64_t kFormat = 1;

/// Returns the host's path of a directory that a guest sees. Only the package set has a different
/// path.
std::string OnHost(const launch::Installation& installation, const std::string& directory) {
  const std::string& packages = installation.places.packages;
  const bool is_set = directory == packages || directory.starts_with(packages + "/");
  return is_set ? installation.packages + directory.substr(packages.size()) : directory;
}

/// Returns a text that changes when the answer may change: it covers the language file, the
/// interpreter, and the directories that it examined.
std::string Stamp(const launch::Installation& installation,
                  const std::vector<std::string>& directories) {
  std::vector<std::string> parts = {
      std::to_string(std::hash<std::string>()(installation.language.text)), installation.packages,
      languages::FileStamp(installation.toolchain.executable)};
  for (const std::string& directory : directories) {
    parts.push_back(languages::FileStamp(OnHost(installation, directory)));
  }
  return fmt::format("{}", fmt::join(parts, "\n"));
}

/// A cached answer.
struct Entry {
  /// The Stamp() of the time when the interpreter was asked.
  std::string stamp;
  std::vector<std::string> directories;
  std::vector<std::string> packages;

  static constexpr auto Members() {
    return std::tuple(json::Required("stamp", &Entry::stamp),
                      json::Required("directories", &Entry::directories),
                      json::Required("packages", &Entry::packages));
  }
};

/// The cached answers by language id.
using Cache = std::map<std::string, Entry>;

std::optional<std::vector<std::string>> Remembered(const Cache& cache,
                                                   const launch::Installation& installation) {
  const auto found = cache.find(installation.language.id);
  if (found == cache.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (entry.stamp != Stamp(installation, entry.directories)) return std::nullopt;
  return entry.packages;
}

void Remember(Cache cache, const launch::Installation& installation, const ImportableAnswer& answer,
              const ImportableOptions& options) {
  if (options.cache_file.empty()) return;
  cache[installation.language.id] = {.stamp = Stamp(installation, answer.directories),
                                     .directories = answer.directories,
                                     .packages = answer.packages};
  const Status status = json::WriteCacheFile(options.cache_file, kFormat, cache);
  if (!status.ok()) {
    options.log.Debug("could not save the lists of importable packages",
                      {{"error", status.error().message()}});
  }
}

/// The result of asking an interpreter.
struct Asked {
  /// Absent when the interpreter failed.
  std::optional<ImportableAnswer> answer;
  /// How the interpreter ended, and its error output.
  std::string end;
  GuestBytes said;
};

/// Asks the interpreter in a slot of the language. The working directory contains the files that
/// each program of the language gets.
Result<Asked> Ask(launch::Installation installation, const launch::JailHome& home) {
  installation.warm = {};
  installation.egress = false;
  POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot,
                           home.MakeSlot(launch::SpecFor(installation, home.grade()), 0));
  installation.places = slot.places();
  POLYBOX_ASSIGN_OR_RETURN(const auto files, launch::FilesFor(installation, {}));
  POLYBOX_RETURN_IF_ERROR(slot.PutFiles(files));
  // The interpreter gets the environment and limits of a program.
  languages::Step step = installation.language.run;
  step.command = step.importable;
  POLYBOX_ASSIGN_OR_RETURN(jail::RunRequest run, launch::RequestFor(installation, step, {}));
  run.limits.wall_time = run.limits.cpu_time = kTime;
  std::string out;
  std::string err;
  launch::Streams streams;
  streams.out = [&](std::string_view text) { out += text; };
  streams.err = [&](std::string_view text) { err += text; };
  streams.limit = kOutput;
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome outcome,
                           launch::RunWithStreams(slot, std::move(run), streams));
  Asked asked = {
      .answer = {},
      .end = fmt::format("{}, exit code {}", jail::EndName(outcome.end), outcome.exit_code),
      .said = GuestBytes(std::move(err))};
  const bool well = outcome.end == jail::End::kExited && outcome.exit_code == 0;
  if (well) asked.answer = ParseImportable(out);
  return asked;
}

}  // namespace

ImportableAnswer ParseImportable(std::string_view text) {
  constexpr std::string_view kFrom = "from ";
  constexpr std::string_view kPackage = "package ";
  ImportableAnswer answer;
  std::set<std::string> packages;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() > kLongestName + kPackage.size() && !line.starts_with(kFrom)) continue;
    if (line.starts_with(kFrom)) answer.directories.emplace_back(line.substr(kFrom.size()));
    if (line.starts_with(kPackage)) packages.emplace(line.substr(kPackage.size()));
  }
  packages.erase("");
  answer.packages.assign(packages.begin(), packages.end());
  return answer;
}

std::optional<std::vector<std::string>> ImportableIn(const launch::Installation& installation,
                                                     const ImportableOptions& options) {
  if (installation.language.run.importable.empty()) return std::nullopt;
  Cache cache = json::ReadCacheFile<Entry>(options.cache_file, kFormat);
  if (auto known = Remembered(cache, installation)) return known;
  constexpr std::string_view kFailed = "could not list the packages of a language";
  const Result<Asked> asked = Ask(installation, options.home);
  if (!asked.ok()) {
    options.log.Warn(kFailed,
                     {{"language", installation.language.id}, {"why", asked.error().message()}});
    return std::nullopt;
  }
  if (!asked->answer) {
    options.log.Warn(kFailed, {{"language", installation.language.id},
                               {"why", asked->end},
                               {"said", asked->said.Escaped(kLongestSaid)}});
    return std::nullopt;
  }
  Remember(std::move(cache), installation, *asked->answer, options);
  return asked->answer->packages;
}

}  // namespace polybox::packages

#include "languages/toolchain.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "languages/placeholders.h"
#include "languages/toolchain_cache.h"
#include "sys/command.h"

namespace polybox::languages {
namespace {

Error Unavailable(std::string message, std::string fix) {
  return Error(ErrorKind::kUnavailable, std::move(message)).WithFix(std::move(fix));
}

/// The largest number of links that are followed; the kernel follows as many.
constexpr int kMostLinks = 40;
/// The advice for a toolchain that exists but does not work.
constexpr const char* kRepair = "make it work on the command line first, then ask again";

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) {
      line.remove_prefix(1);
    }
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

std::string EnvironmentValue(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

/// Returns a text that changes when the selector changes. "$NAME/rest" and "~/rest" are paths; for
/// "$NAME" alone it is the variable's value.
std::string SelectorStamp(const std::string& selector) {
  if (selector[0] != '$' && selector[0] != '~') return FileStamp(selector);
  const std::size_t slash = std::min(selector.find('/'), selector.size());
  const std::string name = selector[0] == '~' ? "HOME" : selector.substr(1, slash - 1);
  const std::string value = EnvironmentValue(name);
  if (slash == selector.size()) return fmt::format("{}={}", selector, value);
  return value.empty() ? selector + " -" : FileStamp(value + selector.substr(slash));
}

/// Returns a text of everything that an answer depends on: the questions, the files on PATH, and
/// what chooses among versions.
std::string Fingerprint(const ToolchainQuestions& questions,
                        const std::vector<std::string>& binaries) {
  std::vector<std::string> parts;
  for (const std::string& binary : binaries) {
    std::error_code ignored;
    parts.push_back(FileStamp(binary));
    parts.push_back(std::filesystem::canonical(binary, ignored).string());
  }
  for (const std::string& selector : questions.selectors) parts.push_back(SelectorStamp(selector));
  for (const Argv* argv :
       {&questions.executable_command, &questions.roots_command, &questions.version}) {
    parts.push_back(fmt::format("{}", fmt::join(*argv, "\x1f")));
  }
  parts.push_back(questions.executable);
  parts.push_back(questions.roots_after);
  for (const auto& [name, value] : questions.env)
    parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

/// Runs the commands that ask one toolchain for its executable, version and directories. A command
/// can use the answers of the commands before it.
class Asker {
 public:
  Asker(const ToolchainQuestions& questions, std::string binary) : questions_(questions) {
    answer_.binary = std::move(binary);
    values_["binary"] = answer_.binary;
  }

  Result<Toolchain> Ask() {
    // The template "{root}/bin/x" needs the roots first. In every other case the real executable is
    // asked for the roots, so that a slow shim runs only once.
    const bool from_root = !questions_.executable.empty();
    if (from_root) POLYBOX_RETURN_IF_ERROR(AskRoots());
    POLYBOX_RETURN_IF_ERROR(AskExecutable());
    if (!from_root) POLYBOX_RETURN_IF_ERROR(AskRoots());
    FollowIntoRoots();
    POLYBOX_RETURN_IF_ERROR(AskVersion());
    return std::move(answer_);
  }

 private:
  Result<std::vector<std::string>> Run(const Argv& command) const {
    const Argv argv = Expand(command, values_);
    Result<sys::CommandOutput> output = sys::RunCommand({.argv = argv, .env = questions_.env});
    if (!output.ok()) return Unavailable(output.error().message(), kRepair);
    if (!output->ok()) {
      return Unavailable(fmt::format("{} does not work: {}", answer_.binary, output->Failure()),
                         kRepair);
    }
    return Lines(output->out + "\n" + output->err);
  }

  Status AskExecutable() {
    std::error_code ignored;
    if (!questions_.executable_command.empty()) {
      POLYBOX_ASSIGN_OR_RETURN(const auto lines, Run(questions_.executable_command));
      if (!lines.empty()) answer_.executable = lines[0];
    } else if (!questions_.executable.empty()) {
      answer_.executable = Expand(questions_.executable, values_);
    } else {
      answer_.executable = std::filesystem::canonical(answer_.binary, ignored).string();
    }
    if (::access(answer_.executable.c_str(), X_OK) != 0) {
      return Unavailable(fmt::format("{} says that its executable is \"{}\", which cannot be run",
                                     answer_.binary, answer_.executable),
                         kRepair);
    }
    values_["executable"] = answer_.executable;
    return {};
  }

  Status AskRoots() {
    if (questions_.roots_command.empty()) {
      // Without a command, the root is the directory above that of the executable.
      const std::filesystem::path executable(answer_.executable);
      answer_.roots = {executable.parent_path().parent_path().string()};
    } else {
      POLYBOX_ASSIGN_OR_RETURN(const auto lines, Run(questions_.roots_command));
      for (const std::string& line : lines) AddRoot(line);
    }
    if (answer_.roots.empty()) {
      return Unavailable(fmt::format("{} does not say where its files are", answer_.binary),
                         kRepair);
    }
    values_["root"] = answer_.roots[0];
    return {};
  }

  /// Follows the executable's link until it is in a directory of the toolchain; it may begin
  /// elsewhere, such as in ~/bin. Links inside these directories are not followed, because a
  /// virtual environment is recognised by its link.
  void FollowIntoRoots() {
    std::filesystem::path at = answer_.executable;
    for (int i = 0; i < kMostLinks && !IsInRoots(at); ++i) {
      std::error_code error;
      const std::filesystem::path target = std::filesystem::read_symlink(at, error);
      if (error) return;
      at = (at.parent_path() / target).lexically_normal();
    }
    if (!IsInRoots(at)) return;
    answer_.executable = at.string();
    values_["executable"] = answer_.executable;
  }

  bool IsInRoots(const std::filesystem::path& path) const {
    return std::ranges::any_of(answer_.roots, [&](const std::string& root) {
      const std::filesystem::path relative = path.lexically_relative(root);
      return !relative.empty() && *relative.begin() != "..";
    });
  }

  /// Adds a directory that the toolchain printed. Other lines (a warning, for example) are ignored.
  void AddRoot(std::string line) {
    if (!line.starts_with(questions_.roots_after)) return;
    line.erase(0, questions_.roots_after.size());
    std::error_code ignored;
    if (line.empty() || line[0] != '/' || !std::filesystem::is_directory(line, ignored)) return;
    if (std::ranges::count(answer_.roots, line) == 0) answer_.roots.push_back(std::move(line));
  }

  Status AskVersion() {
    POLYBOX_ASSIGN_OR_RETURN(const auto lines, Run(questions_.version));
    answer_.version = lines.empty() ? "unknown" : Printable(lines[0], 200);
    return {};
  }

  const ToolchainQuestions& questions_;
  Placeholders values_;
  Toolchain answer_;
};

std::string HowToGet(const Language& language) {
  const std::string& minimum = language.toolchain.minimum_version;
  const std::string what = minimum.empty() ? "it" : minimum + " or newer";
  if (language.image.apt.empty()) return fmt::format("install {} and put it on PATH", what);
  return fmt::format("install {} and put it on PATH (Debian: {}{})", what,
                     fmt::join(language.image.apt, " "), minimum.empty() ? "" : ", if new enough");
}

/// Finds the toolchains of all languages. Several threads call Find() at once; `mutex_` guards
/// `cache_`.
class Finder {
 public:
  Finder(const FinderOptions& options, const log::Logger& log) : options_(options), log_(log) {
    if (!options_.cache_file.empty()) cache_ = ToolchainCache::Load(options_.cache_file);
  }

  Result<Toolchain> Find(const Language& language) {
    std::vector<std::string> binaries;
    for (const std::string& name : language.toolchain.binaries) {
      binaries.push_back(sys::FindOnPath(name, options_.path));
      if (binaries.back().empty()) {
        return Unavailable(fmt::format("\"{}\" not found on PATH", name), HowToGet(language));
      }
    }
    POLYBOX_ASSIGN_OR_RETURN(Toolchain toolchain, AskOrRemember(language, binaries));
    POLYBOX_RETURN_IF_ERROR(CheckVersion(language, toolchain));
    POLYBOX_RETURN_IF_ERROR(CheckRequired(language, toolchain));
    return toolchain;
  }

  void Save() const {
    if (options_.cache_file.empty()) return;
    const Status status = cache_.Save(options_.cache_file);
    if (!status.ok()) {
      log_.Debug("could not save the answers of toolchains", {{"error", status.error().message()}});
    }
  }

 private:
  Result<Toolchain> AskOrRemember(const Language& language,
                                  const std::vector<std::string>& binaries) {
    const std::string key = language.id + " " + binaries[0];
    const std::string fingerprint = Fingerprint(language.toolchain, binaries);
    {
      const std::lock_guard lock(mutex_);
      if (auto known = cache_.Find(key, fingerprint)) return std::move(*known);
    }
    const auto begin = std::chrono::steady_clock::now();
    // The mutex is not held here, so that several toolchains can be asked at once.
    Result<Toolchain> answer = Asker(language.toolchain, binaries[0]).Ask();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    log_.Debug("asked a toolchain", {{"language", language.id},
                                     {"binary", binaries[0]},
                                     {"ok", answer.ok()},
                                     {"ms", took.count()}});
    if (answer.ok()) {
      const std::lock_guard lock(mutex_);
      cache_.Store(key, fingerprint, *answer);
    }
    return answer;
  }

  static Status CheckVersion(const Language& language, const Toolchain& toolchain) {
    const std::string& minimum = language.toolchain.minimum_version;
    if (minimum.empty() || IsAtLeast(toolchain.VersionNumber(), minimum)) return {};
    return Unavailable(fmt::format("{} is {}, and {} or newer is needed", toolchain.binary,
                                   toolchain.VersionNumber(), minimum),
                       "put a newer one first on PATH");
  }

  Status CheckRequired(const Language& language, const Toolchain& toolchain) const {
    const Placeholders values = {{"root", toolchain.roots[0]},
                                 {"packages", options_.packages_dir + "/" + language.id}};
    for (const std::string& required : language.toolchain.requires_files) {
      const std::string path = Expand(required, values);
      if (::access(path.c_str(), F_OK) == 0) continue;
      return Unavailable(fmt::format("{} is missing", path),
                         fmt::format("run: polybox preinstall {}", language.id));
    }
    return {};
  }

  const FinderOptions& options_;
  const log::Logger& log_;
  std::mutex mutex_;
  ToolchainCache cache_;
};

}  // namespace

std::string Toolchain::VersionNumber() const {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string first;
  for (auto begin = std::ranges::find_if(version, is_digit); begin != version.end();) {
    auto end = begin;
    while (end != version.end() &&
           (is_digit(*end) || (*end == '.' && end + 1 != version.end() && is_digit(end[1])))) {
      ++end;
    }
    const std::string number(begin, end);
    if (number.find('.') != std::string::npos) return number;
    if (first.empty()) first = number;
    begin = std::find_if(end, version.end(), is_digit);
  }
  return first;
}

bool IsAtLeast(std::string_view version, std::string_view minimum) {
  const auto next_part = [](std::string_view& text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(std::min(text.find('.'), text.size() - 1) + 1);
    return number;
  };
  while (!version.empty() || !minimum.empty()) {
    const int have = version.empty() ? 0 : next_part(version);
    const int want = minimum.empty() ? 0 : next_part(minimum);
    if (have != want) return have > want;
  }
  return true;
}

Toolchains FindToolchains(const std::vector<Language>& languages, const FinderOptions& options,
                          const log::Logger& log) {
  Finder finder(options, log);
  std::vector<std::optional<Result<Toolchain>>> answers(languages.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < languages.size(); i = next++) {
      // Each index is taken by one thread only, so the elements need no lock.
      answers[i] = finder.Find(languages[i]);
    }
  };
  {
    // Asking mostly means waiting for other programs, so several threads ask at the same time.
    constexpr std::size_t kAtATime = 4;
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min(kAtATime, languages.size()); ++i)
      workers.emplace_back(work);
    work();
  }
  finder.Save();
  Toolchains result;
  for (std::size_t i = 0; i < languages.size(); ++i) {
    result.emplace(languages[i].id, *std::move(answers[i]));
  }
  return result;
}

}  // namespace polybox::languages

#include "http/doors/execute_request.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "exec/words.h"
#include "http/base64.h"
#include "http/doors/go_json/reader.h"
#include "limits/table.h"

namespace polybox::http {
namespace {

constexpr std::size_t kLongestComponent = 255;
constexpr std::size_t kLongestPath = 4096;

Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", PrintableForQuotes(text, 300));
}

bool HasZero(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool IsFileOf(const LanguageFacts& language, std::string_view name) {
  return std::ranges::any_of(
      language.extensions, [&](const std::string& extension) { return name.ends_with(extension); });
}

/// Returns a language of the same mode (with the same programs) whose files the request brings,
/// such as TypeScript where JavaScript is the default. Null if there is none.
const LanguageFacts* CompanionFor(const ExecuteBody& body, const LanguageFacts& language,
                                  const ExecuteOptions& options) {
  for (const LanguageFacts& other : options.languages) {
    if (&other == &language || other.binaries != language.binaries) continue;
    for (const auto& [name, content] : body.files) {
      if (IsFileOf(other, name) && !IsFileOf(language, name)) return &other;
    }
  }
  return nullptr;
}

Result<const LanguageFacts*> ChooseLanguage(const ExecuteBody& body,
                                            const ExecuteOptions& options) {
  const bool named = !body.language.empty();
  const std::string& name = named ? body.language : options.language;
  const LanguageFacts* language = FindLanguage(options.languages, name);
  if (language == nullptr) {
    std::vector<std::string_view> known;
    for (const LanguageFacts& facts : options.languages) known.push_back(facts.id);
    const std::string why = options.why_not ? options.why_not(name) : "";
    return Invalid(fmt::format("unsupported language {}{} (available: {}){}", Quoted(name),
                               why.empty() ? "" : ": " + why, fmt::join(known, ", "),
                               why.empty() ? DidYouMean(name, known) : ""));
  }
  if (named) return language;
  const LanguageFacts* companion = CompanionFor(body, *language, options);
  return companion == nullptr ? language : companion;
}

/// Returns whether `a` would have to be a directory of the path `b`.
bool InTheWay(std::string_view a, std::string_view b) {
  return b.size() > a.size() && b.starts_with(a) && b[a.size()] == '/';
}

class Files {
 public:
  Files(const LanguageFacts& language, const ExecuteOptions& options)
      : entry_(language.entry_file), output_(options.output_directory) {}

  /// Returns the files with the code first. The code replaces a file with the name of the entry.
  Result<std::vector<jail::InputFile>> Arrange(std::string code,
                                               std::map<std::string, std::string>& files) {
    arranged_.push_back({entry_, std::move(code), 0644});
    for (auto& [name, content] : files) POLYBOX_RETURN_IF_ERROR(Add(name, content));
    POLYBOX_RETURN_IF_ERROR(CheckTree());
    return std::move(arranged_);
  }

 private:
  Status Add(const std::string& name, const std::string& content) {
    POLYBOX_ASSIGN_OR_RETURN(std::string path, CheckedFileName(name));
    auto decoded = DecodeBase64(content);
    if (!decoded.ok()) {
      return Invalid(
          fmt::format("failed to decode file {}: {}", Quoted(name), decoded.error().message()));
    }
    if (path == entry_) return {};
    if (path == output_) {
      return Invalid(fmt::format("invalid file name {}: it is the output directory", Quoted(name)));
    }
    arranged_.push_back({std::move(path), std::move(decoded).value(), 0644});
    return {};
  }

  /// Checks that no name occurs twice and that no file is where another file needs a directory.
  Status CheckTree() const {
    std::vector<std::string_view> names;
    for (const jail::InputFile& file : arranged_) names.emplace_back(file.name);
    std::ranges::sort(names, [](std::string_view a, std::string_view b) {
      // '/' sorts before all other characters, so the names below a directory directly follow its
      // name.
      return std::ranges::lexicographical_compare(a, b, {}, Rank, Rank);
    });
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (names[i - 1] == names[i]) {
        return Invalid(fmt::format("invalid file name {}: given twice", Quoted(names[i])));
      }
      if (InTheWay(names[i - 1], names[i])) {
        return Invalid(fmt::format("invalid file name {}: {} is a file", Quoted(names[i]),
                                   Quoted(names[i - 1])));
      }
    }
    return {};
  }

  static int Rank(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }

  const std::string& entry_;
  const std::string& output_;
  std::vector<jail::InputFile> arranged_;
};

/// Returns the largest value of a limit in a request. The times of a step are bounded by the
/// server, other limits by the language file.
std::int64_t LargestOf(const limits::Limit& limit, const LanguageFacts& language,
                       const ExecuteOptions& options) {
  if (limit.unit() != limits::Unit::kTime) return limits::NumberOf(limit, language.run_limits);
  return std::chrono::duration_cast<std::chrono::milliseconds>(options.largest_timeout).count();
}

Status UnknownLimit(std::string_view name) {
  std::vector<std::string_view> known;
  for (const limits::Limit& limit : limits::kLimits) {
    if (limit.Changes()) known.push_back(limit.listed.name);
  }
  return Invalid(fmt::format("unknown limit {} (known: {}){}", Quoted(name), fmt::join(known, ", "),
                             DidYouMean(name, known)));
}

/// Applies the limits of a request, which may lower limits but never raise them.
Status ApplyLimits(const std::map<std::string, std::int64_t>& limits, const LanguageFacts& language,
                   const ExecuteOptions& options, exec::Overrides& run) {
  for (const auto& [name, value] : limits) {
    const auto* limit = std::ranges::find_if(limits::kLimits, [&](const limits::Limit& row) {
      return row.Changes() && KeyIs(name, row.listed.name);
    });
    if (limit == limits::kLimits.end()) return UnknownLimit(name);
    const std::int64_t largest = LargestOf(*limit, language, options);
    if (value < 1 || value > largest) {
      return Invalid(fmt::format("limits.{} is {}: from 1 to {} is allowed for {}",
                                 limit->listed.name, value, largest, language.name));
    }
    limits::Lower(*limit, value, run);
  }
  return {};
}

}  // namespace

Duration TimeoutFor(std::int64_t seconds, const ExecuteOptions& options) {
  if (seconds <= 0) return std::min(options.default_timeout, options.largest_timeout);
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(options.largest_timeout);
  return seconds > most.count() ? options.largest_timeout : std::chrono::seconds(seconds);
}

Result<std::string> CheckedFileName(std::string_view name) {
  const auto wrong = [&](std::string_view why) {
    return Invalid(fmt::format("invalid file name {}: {}", Quoted(name), why));
  };
  if (name.empty()) return wrong("it is empty");
  if (HasZero(name)) return wrong("it holds a zero byte");
  if (name.front() == '/') return wrong("it is absolute");
  if (name.back() == '/') return wrong("it is a directory");
  std::string path;
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), component.size() + 1));
    if (component == "..") return wrong("\"..\" is not allowed");
    if (component.size() > kLongestComponent) {
      return wrong(fmt::format("a part of it is longer than {} bytes", kLongestComponent));
    }
    if (component.empty() || component == ".") continue;
    if (!path.empty()) path += '/';
    path += component;
  }
  if (path.empty()) return wrong("it is a directory");
  if (path.size() > kLongestPath) {
    return wrong(fmt::format("it is longer than {} bytes", kLongestPath));
  }
  return path;
}

Result<ExecuteOrder> OrderFor(ExecuteBody body, const ExecuteOptions& options) {
  ExecuteOrder order;
  POLYBOX_ASSIGN_OR_RETURN(order.language, ChooseLanguage(body, options));
  exec::Request& request = order.request;
  request.lane = options.lane;
  exec::Program program;
  program.language = order.language->id;
  POLYBOX_ASSIGN_OR_RETURN(
      program.files, Files(*order.language, options).Arrange(*std::move(body.code), body.files));
  POLYBOX_RETURN_IF_ERROR(exec::CheckWords(body.args, body.env));
  const Duration timeout = TimeoutFor(body.timeout_seconds, options);
  request.run.wall_time = request.run.cpu_time = timeout;
  program.install_time = timeout;
  program.install_time_name = "timeout_seconds";
  POLYBOX_RETURN_IF_ERROR(ApplyLimits(body.limits, *order.language, options, request.run));
  order.timeout = *request.run.wall_time;
  const bool lowered =
      request.run.memory && *request.run.memory < order.language->run_limits.memory;
  request.run_memory_from = lowered ? "limits.memory_bytes" : "the setting run-memory";
  program.may_fall_back = true;
  program.compile_memory_from = "the setting compile-memory";
  program.args = std::move(body.args);
  program.env = std::move(body.env);
  program.requirements = std::move(body.requirements);
  program.output_directory = options.output_directory;
  request.input = std::move(body.input);
  request.work = std::move(program);
  return order;
}

}  // namespace polybox::http

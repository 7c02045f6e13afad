#include "http/doors/execute_request.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "http/base64.h"
#include "http/json_reader.h"

namespace polybox::http {
namespace {

constexpr std::size_t kLongestComponent = 255;
constexpr std::size_t kLongestPath = 4096;
/// Of one argument or variable: the kernel takes 128 KiB with the zero at its end.
constexpr std::size_t kLongestWord = (128U << 10U) - 1;
/// Of all of them: they go to the guest in one message.
constexpr std::size_t kMostWordBytes = 128 * 1024;
constexpr std::string_view kOutputVariable = "OUTPUT_DIR";

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

/// A language that lives in the same mode (the same programs) and whose files the request brings:
/// TypeScript where JavaScript is the default.
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

/// Whether one is a directory on the way to the other.
bool InTheWay(std::string_view a, std::string_view b) {
  return b.size() > a.size() && b.starts_with(a) && b[a.size()] == '/';
}

class Files {
 public:
  Files(const LanguageFacts& language, const ExecuteOptions& options)
      : entry_(language.entry_file), output_(options.output_directory) {}

  /// The code first; a file of its name gives way to it.
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

  /// No name twice, and no file where another needs a directory.
  Status CheckTree() const {
    std::vector<std::string_view> names;
    for (const jail::InputFile& file : arranged_) names.emplace_back(file.name);
    std::ranges::sort(names, [](std::string_view a, std::string_view b) {
      // '/' before all else, so that what is below a name follows it directly.
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

Status CheckArgs(const std::vector<std::string>& args, std::size_t& bytes) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (HasZero(args[i])) return Invalid(fmt::format("invalid args[{}]: it holds a zero byte", i));
    if (args[i].size() > kLongestWord) {
      return Invalid(fmt::format("invalid args[{}]: longer than {} bytes", i, kLongestWord));
    }
    bytes += args[i].size() + 1;
  }
  return {};
}

bool IsVariableName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status CheckEnv(const std::map<std::string, std::string>& env, std::size_t& bytes) {
  for (const auto& [name, value] : env) {
    if (!IsVariableName(name)) {
      return Invalid(fmt::format(
          "invalid env name {}: letters, digits and _ are allowed, no digit first", Quoted(name)));
    }
    if (name == kOutputVariable) {
      return Invalid(fmt::format("invalid env name {}: the server sets it", Quoted(name)));
    }
    if (HasZero(value)) {
      return Invalid(fmt::format("invalid env value of {}: it holds a zero byte", name));
    }
    if (name.size() + 1 + value.size() > kLongestWord) {
      return Invalid(fmt::format("invalid env value of {}: longer than {} bytes", name,
                                 kLongestWord - name.size() - 1));
    }
    bytes += name.size() + value.size() + 2;
  }
  return {};
}

/// What a request may lower, and never raise above what the language's file allows.
struct LimitRow {
  std::string_view name;
  std::int64_t (*largest)(const languages::Limits&, const ExecuteOptions&);
  void (*set)(exec::Overrides&, std::int64_t);
};

std::int64_t Milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::int64_t Count(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.count());
}

Bytes ToBytes(std::int64_t count) {
  return Bytes(static_cast<std::uint64_t>(count));
}

using AllLimits = languages::Limits;
constexpr std::array<LimitRow, 6> kLimits = {{
    {"wall_time_ms",
     [](const AllLimits&, const ExecuteOptions& o) { return Milliseconds(o.largest_timeout); },
     [](exec::Overrides& run, std::int64_t value) {
       run.wall_time = std::min<Duration>(*run.wall_time, std::chrono::milliseconds(value));
     }},
    {"cpu_time_ms",
     [](const AllLimits&, const ExecuteOptions& o) { return Milliseconds(o.largest_timeout); },
     [](exec::Overrides& run, std::int64_t value) {
       run.cpu_time = std::min<Duration>(*run.cpu_time, std::chrono::milliseconds(value));
     }},
    {"memory_bytes", [](const AllLimits& l, const ExecuteOptions&) { return Count(l.memory); },
     [](exec::Overrides& run, std::int64_t value) { run.memory = ToBytes(value); }},
    {"processes", [](const AllLimits& l, const ExecuteOptions&) { return l.processes; },
     [](exec::Overrides& run, std::int64_t value) { run.processes = value; }},
    {"disk_bytes", [](const AllLimits& l, const ExecuteOptions&) { return Count(l.disk); },
     [](exec::Overrides& run, std::int64_t value) { run.disk = ToBytes(value); }},
    {"output_bytes", [](const AllLimits& l, const ExecuteOptions&) { return Count(l.output); },
     [](exec::Overrides& run, std::int64_t value) { run.output = ToBytes(value); }},
}};

Status ApplyLimits(const std::map<std::string, std::int64_t>& limits, const LanguageFacts& language,
                   const ExecuteOptions& options, exec::Overrides& run) {
  for (const auto& [name, value] : limits) {
    const auto* row =
        std::ranges::find_if(kLimits, [&](const LimitRow& r) { return KeyIs(name, r.name); });
    if (row == kLimits.end()) {
      std::vector<std::string_view> known;
      for (const LimitRow& limit : kLimits) known.push_back(limit.name);
      return Invalid(fmt::format("unknown limit {} (known: {}){}", Quoted(name),
                                 fmt::join(known, ", "), DidYouMean(name, known)));
    }
    const std::int64_t largest = row->largest(language.run_limits, options);
    if (value < 1 || value > largest) {
      return Invalid(fmt::format("limits.{} is {}: from 1 to {} is allowed for {}", row->name,
                                 value, largest, language.name));
    }
    row->set(run, value);
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
  request.language = order.language->id;
  POLYBOX_ASSIGN_OR_RETURN(
      request.files, Files(*order.language, options).Arrange(*std::move(body.code), body.files));
  std::size_t bytes = 0;
  POLYBOX_RETURN_IF_ERROR(CheckArgs(body.args, bytes));
  POLYBOX_RETURN_IF_ERROR(CheckEnv(body.env, bytes));
  if (bytes > kMostWordBytes) {
    return Invalid(
        fmt::format("args and env are {} bytes together: {} are allowed", bytes, kMostWordBytes));
  }
  const Duration timeout = TimeoutFor(body.timeout_seconds, options);
  request.run.wall_time = request.run.cpu_time = timeout;
  request.install_time = timeout;
  POLYBOX_RETURN_IF_ERROR(ApplyLimits(body.limits, *order.language, options, request.run));
  order.timeout = *request.run.wall_time;
  request.args = std::move(body.args);
  request.env = std::move(body.env);
  request.input = std::move(body.input);
  request.requirements = std::move(body.requirements);
  request.output_directory = options.output_directory;
  return order;
}

}  // namespace polybox::http

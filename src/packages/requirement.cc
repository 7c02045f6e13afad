#include "packages/requirement.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace polybox::packages {
namespace {

// Limits far above what a program needs. An installer resolves all requirements together.
constexpr std::size_t kMostRequirements = 256;
constexpr std::size_t kLongestRequirement = 256;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Reads words from the beginning of a text; only spaces separate them.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) { SkipSpaces(); }

  template <typename Allowed>
  std::string_view Take(Allowed allowed) {
    const auto end = std::ranges::find_if_not(rest_, allowed);
    const std::string_view taken(rest_.begin(), end);
    rest_.remove_prefix(taken.size());
    SkipSpaces();
    return taken;
  }
  bool Skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    SkipSpaces();
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  void SkipSpaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
};

/// Returns the name in its normal form; nothing if it is not a name. A name has letters and digits,
/// with - _ . between them. Names that installers treat as equal have the same normal form.
std::optional<std::string> PythonName(std::string_view text) {
  if (text.empty() || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) {
    return std::nullopt;
  }
  std::string name;
  for (const char c : Lower(text)) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) name += c;
    if (separator && name.back() != '-') name += '-';
  }
  return name;
}

bool IsPythonNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
}

std::optional<std::string> PythonExtras(Scanner& scanner) {
  if (!scanner.Skip("[")) return "";
  std::vector<std::string> extras;
  do {
    const auto extra = PythonName(scanner.Take(IsPythonNameCharacter));
    if (!extra) return std::nullopt;
    extras.push_back(*extra);
  } while (scanner.Skip(","));
  if (!scanner.Skip("]")) return std::nullopt;
  std::ranges::sort(extras);
  return fmt::format("[{}]", fmt::join(extras, ","));
}

std::optional<std::string> PythonVersions(Scanner& scanner) {
  std::vector<std::string> versions;
  while (!scanner.done()) {
    constexpr std::string_view kOperators[] = {"===", "==", "~=", "!=", "<=", ">=", "<", ">"};
    const auto found =
        std::ranges::find_if(kOperators, [&](std::string_view word) { return scanner.Skip(word); });
    const std::string_view version = scanner.Take(
        [](char c) { return IsPythonNameCharacter(c) || c == '*' || c == '+' || c == '!'; });
    if (found == std::end(kOperators) || version.empty() || !IsAlphanumeric(version.front())) {
      return std::nullopt;
    }
    versions.push_back(fmt::format("{}{}", *found, version));
    if (!scanner.done() && (!scanner.Skip(",") || scanner.done())) return std::nullopt;
  }
  std::ranges::sort(versions);
  return fmt::format("{}", fmt::join(versions, ","));
}

/// Parses name[extra,...]==version,...: PEP 508 without addresses and markers.
std::optional<Requirement> ParsePython(std::string_view text) {
  Scanner scanner(text);
  const auto name = PythonName(scanner.Take(IsPythonNameCharacter));
  if (!name) return std::nullopt;
  const auto extras = PythonExtras(scanner);
  if (!extras) return std::nullopt;
  const auto versions = PythonVersions(scanner);
  if (!versions) return std::nullopt;
  return Requirement{*name, *name + *extras + *versions};
}

bool LooksLikeArchive(std::string_view text) {
  const std::string lower = Lower(text);
  return lower.ends_with(".tgz") || lower.ends_with(".tar") || lower.ends_with(".tar.gz");
}

bool IsNodeNamePart(std::string_view text) {
  const auto allowed = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '~';
  };
  return !text.empty() && IsAlphanumeric(text.front()) && std::ranges::all_of(text, allowed) &&
         !LooksLikeArchive(text);
}

/// Accepts versions, ranges and tags. Any other source (git, http, file, another name) contains a
/// colon or a slash, begins with a dot, or ends like an archive.
bool IsNodeRange(std::string_view text) {
  const auto allowed = [](char c) {
    return IsAlphanumeric(c) || std::string_view(" .*+^~<>=|-_").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, allowed) && !LooksLikeArchive(text);
}

/// Parses [@scope/]name[@range].
std::optional<Requirement> ParseNode(std::string_view text) {
  constexpr std::size_t kLongestName = 214;  // npm's own limit
  const std::size_t at = text.find('@', 1);
  const std::string_view name = text.substr(0, at);
  std::string_view bare = name;
  if (bare.starts_with('@')) {
    const std::size_t slash = bare.find('/');
    if (slash == std::string_view::npos || !IsNodeNamePart(bare.substr(1, slash - 1))) {
      return std::nullopt;
    }
    bare.remove_prefix(slash + 1);
  }
  if (name.size() > kLongestName || !IsNodeNamePart(bare)) return std::nullopt;
  if (at == std::string_view::npos) return Requirement{std::string(name), std::string(name)};
  if (!IsNodeRange(text.substr(at + 1))) return std::nullopt;
  return Requirement{std::string(name), std::string(text)};
}

/// Checks a path by Go's own rules, but refuses paths that cannot be fetched: the first part must
/// be a host name with a dot.
bool IsGoPath(std::string_view text) {
  const auto allowed = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '~';
  };
  for (bool first = true; !text.empty() || first; first = false) {
    const std::string_view part = text.substr(0, text.find('/'));
    const bool ends = part.size() == text.size();
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty() || part.front() == '.' || part.front() == '-' || part.back() == '.') {
      return false;
    }
    if (!std::ranges::all_of(part, allowed) || (!ends && text.empty())) return false;
    if (first && (part.find('.') == std::string_view::npos || part != Lower(part))) return false;
  }
  return true;
}

/// Accepts a version, a tag, a commit, or a word such as latest. Refuses "none", which would remove
/// the package.
bool IsGoVersion(std::string_view text) {
  const auto allowed = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '+';
  };
  return !text.empty() && IsAlphanumeric(text.front()) && std::ranges::all_of(text, allowed) &&
         text != "none";
}

/// Parses path[@version].
std::optional<Requirement> ParseGo(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view path = text.substr(0, at);
  if (!IsGoPath(path)) return std::nullopt;
  if (at != std::string_view::npos && !IsGoVersion(text.substr(at + 1))) return std::nullopt;
  return Requirement{std::string(path), std::string(text)};
}

struct Form {
  std::string_view name;
  std::optional<Requirement> (*parse)(std::string_view);
  const char* expected;
};

constexpr Form kForms[] = {
    {"pep508", ParsePython, "a name with versions, such as requests or numpy[extra]>=2,<3"},
    {"npm", ParseNode, "a name with a version, such as lodash, lodash@^4.17 or @types/node@24"},
    {"go", ParseGo,
     "a module path with a version, such as golang.org/x/net or rsc.io/quote@v1.5.2"},
};

Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

}  // namespace

Result<std::vector<Requirement>> ParseRequirements(std::string_view form,
                                                   const std::vector<std::string>& texts) {
  const auto rules = std::ranges::find(kForms, form, &Form::name);
  if (rules == std::end(kForms)) return Invalid(fmt::format("no requirement form \"{}\"", form));
  if (texts.size() > kMostRequirements) {
    return Invalid(
        fmt::format("{} requirements: at most {} are allowed", texts.size(), kMostRequirements));
  }
  std::vector<Requirement> all;
  for (const std::string& text : texts) {
    const auto parsed =
        text.size() <= kLongestRequirement ? rules->parse(text) : std::optional<Requirement>();
    if (!parsed) {
      return Invalid(
          fmt::format("requirement \"{}\": expected {}", Printable(text, 80), rules->expected));
    }
    all.push_back(*parsed);
  }
  std::ranges::sort(all);
  const auto repeats = std::ranges::unique(all);
  all.erase(repeats.begin(), repeats.end());
  return all;
}

}  // namespace polybox::packages

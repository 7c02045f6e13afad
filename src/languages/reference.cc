#include "languages/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limits/table.h"

namespace polybox::languages {
namespace {

constexpr std::string_view kHead = R"(# Supported languages

Made from `languages/*.toml` by `make docs`; do not edit. `polybox languages` shows which of them run on your
machine. Adding one is adding a file: see `languages/README.md`. What is `described` is about projects: `test`, `lint`,
`typecheck`, `format` and `coverage` are commands of polybox and tools of agents; `lsp` and `ast` are only in the file.

)";

std::string Code(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("`{}`", fmt::join(words, "` `"));
}

std::string WarmName(WarmKind kind) {
  switch (kind) {
    case WarmKind::kExec:
      return "started for each run";
    case WarmKind::kZygote:
      return "forked from a warm interpreter";
    case WarmKind::kPrestart:
      return "waiting before the run";
  }
  return "";
}

/// Makes the table of what polybox does with each language.
std::string SupportTable(const Registry& registry) {
  std::string text =
      "| language | id | aliases | extensions | supports | described | start "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const Language& language : registry.all()) {
    text += fmt::format("| {} | `{}` | {} | {} | {} | {} | {} |\n", language.name, language.id,
                        Code(language.aliases), Code(language.extensions),
                        fmt::join(Capabilities(language), ", "),
                        fmt::join(Described(language), ", "), WarmName(language.warm.kind));
  }
  return text;
}

std::string LimitsRow(const Language& language, std::string_view step, const Limits& limits) {
  std::string text = fmt::format("| {} | {} |", language.name, step);
  for (const limits::Limit* limit : limits::InOrderOf(&limits::Limit::column)) {
    text += fmt::format(" {} |", limits::FormatValue(*limit, limits));
  }
  return text + "\n";
}

std::string LimitsTable(const Registry& registry) {
  std::string head = "| language | step |";
  std::string line = "|---|---|";
  for (const limits::Limit* limit : limits::InOrderOf(&limits::Limit::column)) {
    head += fmt::format(" {} |", limit->column.name);
    line += "---|";
  }
  std::string text = head + "\n" + line + "\n";
  for (const Language& language : registry.all()) {
    if (language.compile) text += LimitsRow(language, "compile", language.compile->limits);
    text += LimitsRow(language, "run", language.run.limits);
  }
  return text;
}

/// Returns the command for the table. A command that is a script is shown as the list of programs
/// that it uses.
std::string ShowCommand(const std::optional<Verification>& verification) {
  if (!verification) return "";
  const std::string text = fmt::format("{}", fmt::join(verification->command, " "));
  if (text.find_first_of("\n|`") == std::string::npos) return fmt::format("`{}`", text);
  return fmt::format("a script with {}", Code(verification->binaries));
}

std::string VerifyTable(const Registry& registry) {
  std::string text =
      "| language | project marker | test | lint | typecheck |\n|---|---|---|---|---|\n";
  for (const Language& language : registry.all()) {
    if (!language.verify) continue;
    const Verify& verify = *language.verify;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", language.name, Code(verify.markers),
                        ShowCommand(verify.test), ShowCommand(verify.lint),
                        ShowCommand(verify.typecheck));
  }
  return text;
}

}  // namespace

std::string ReferencePage(const Registry& registry) {
  return std::string(kHead) + SupportTable(registry) +
         "\n## Limits\n\nThe reason for each stands beside it in the language's file.\n\n" +
         LimitsTable(registry) +
         "\n## Verification commands\n\nWhat `polybox test` and so on run in a project of the "
         "language.\n\n" +
         VerifyTable(registry);
}

}  // namespace polybox::languages

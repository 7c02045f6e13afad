#include "verify/command_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace polybox::verify {
namespace {

constexpr std::string_view kReport = "{report}";
/// A word of a script in a language file is longer. Of those only the first line is shown.
constexpr std::size_t kShownWord = 200;

bool IsPlain(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:=+@%^").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_plain);
}

/// Returns the word for a shell, with the variable in place of the placeholder.
std::string WordFor(std::string_view word, std::string_view variable) {
  std::string text;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t next = std::min(word.find(kReport, at), word.size());
    const std::string_view part = word.substr(at, next - at);
    if (!part.empty()) text += IsPlain(part) ? std::string(part) : Quoted(part);
    if (next == word.size()) break;
    text += variable;
    at = next + kReport.size();
  }
  return text.empty() ? "''" : text;
}

/// Returns the directories of the project that come before PATH.
std::string PathText(const Plan& plan) {
  if (plan.path.empty()) return {};
  std::string text = "PATH=";
  for (const std::string& directory : plan.path) text += "\"$PWD\"/" + Quoted(directory) + ":";
  return text + "$PATH\n";
}

std::string ReportPathText(std::string_view run) {
  return fmt::format("{}=\"${{TMPDIR:-/tmp}}/polybox-report-{}/report\"\n", kReportVariable, run);
}

bool HasOwnReport(const Plan& plan) {
  return plan.report.find(kReport) != std::string::npos;
}

/// Returns a loop that does `otherwise` for each program that is missing.
std::string ProgramLoop(const Plan& plan, std::string_view otherwise) {
  std::string programs;
  for (const std::string& program : plan.binaries) programs += " " + Quoted(program);
  if (programs.empty()) return {};
  return fmt::format("for program in{}; do type -P -- \"$program\" >/dev/null || {}; done\n",
                     programs, otherwise);
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string CommandText(const Plan& plan, std::string_view run) {
  std::string text = PathText(plan);
  text += ProgramLoop(plan, fmt::format("exit {}", kMissingCode));
  if (HasOwnReport(plan)) {
    text += "export " + ReportPathText(run);
    text += fmt::format("mkdir -m 700 -- \"${{{}%/*}}\" || exit\n", kReportVariable);
  }
  text += "exec";
  for (const std::string& word : plan.argv) {
    text += " " + WordFor(word, fmt::format("\"${}\"", kReportVariable));
  }
  return text + "\n";
}

std::string MissingText(const Plan& plan) {
  return PathText(plan) + ProgramLoop(plan, "printf '%s\\n' \"$program\"") + ":\n";
}

std::string ReportText(const Plan& plan, std::string_view run) {
  if (!HasOwnReport(plan)) {
    const std::string file = "./" + plan.report;
    return fmt::format("[ -f {0} ] && exec cat -- {0}\n", Quoted(file));
  }
  return ReportPathText(run) + fmt::format(
                                   "[ -f \"${0}\" ] && cat -- \"${0}\"\nstatus=$?\n"
                                   "rm -rf -- \"${{{0}%/*}}\"\nexit \"$status\"\n",
                                   kReportVariable);
}

std::string ShownCommand(const languages::Argv& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    const std::size_t line_end = word.find('\n');
    if (line_end == std::string::npos && word.size() <= kShownWord) {
      text += WordFor(word, fmt::format("${}", kReportVariable));
    } else {
      const std::string first = word.substr(0, std::min(line_end, kShownWord));
      text += Quoted(first + " ...");
    }
  }
  return text;
}

}  // namespace polybox::verify

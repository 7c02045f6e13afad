// execute_code: runs a program in a jail of its own, without any workspace.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/printable.h"
#include "json/parse.h"
#include "json/write.h"
#include "tools/budget.h"
#include "tools/code_runner.h"
#include "tools/output_view.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

constexpr std::size_t kCharactersPerToken = 4;
/// Of the budget of an answer, what standard error gets at most if both streams are long.
constexpr std::size_t kErrorShare = 2;

/// Output and files of a program, as large as the limits of languages allow, with room for escapes.
constexpr json::ParseLimits kLargestResult = {.size = Bytes::MiB(256), .memory = Bytes::MiB(512)};

/// The members of a body of `POST /execute`.
struct CodeArguments {
  std::string code;
  std::string language = {};
  std::string input = {};
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env = {};
  std::map<std::string, std::string> files = {};
  std::vector<std::string> requirements = {};
  std::int64_t timeout_seconds = 0;
  std::map<std::string, std::int64_t> limits = {};

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("code", &CodeArguments::code, "The program").NotEmpty(),
        json::Optional("language", &CodeArguments::language, "python, go, rust, cpp, ..."),
        json::Optional("stdin", &CodeArguments::input),
        json::Optional("args", &CodeArguments::args), json::Optional("env", &CodeArguments::env),
        json::Optional("files", &CodeArguments::files, "Name to base64, beside the program"),
        json::Optional("requirements", &CodeArguments::requirements, "Packages to install"),
        json::Optional("timeout_seconds", &CodeArguments::timeout_seconds, "30 if absent"),
        json::Optional("limits", &CodeArguments::limits,
                       "Lower limits: wall_time_ms, cpu_time_ms, memory_bytes, processes, "
                       "disk_bytes, output_bytes"));
  }
};

/// The members of a result of `POST /execute`.
struct CodeResult {
  std::string status = {};
  std::string output = {};
  std::string errors = {};
  std::int64_t exit_code = 0;
  std::int64_t execution_time_ms = 0;
  std::map<std::string, std::string> files_produced = {};
  bool timed_out = false;
  std::optional<std::string> signal = {};
  bool oom_killed = false;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  std::optional<std::int64_t> cpu_time_ms = {};
  std::optional<std::int64_t> memory_peak_bytes = {};
  std::int64_t queue_ms = 0;
  std::int64_t install_time_ms = 0;
  std::int64_t compile_time_ms = 0;
  std::string isolation = {};
  std::string language = {};
  double timeout_seconds = 0;
  std::vector<std::string> isolation_notes = {};
  std::vector<std::string> limits_lowered = {};
  std::optional<std::string> compile_output = {};
  std::vector<std::string> requirements_ignored = {};
  std::vector<std::string> files_left_out = {};
  std::vector<std::string> warnings = {};

  static constexpr auto Members() {
    using R = CodeResult;
    return std::tuple(
        json::Required("status", &R::status), json::Required("stdout", &R::output),
        json::Required("stderr", &R::errors), json::Required("exit_code", &R::exit_code),
        json::Required("execution_time_ms", &R::execution_time_ms),
        json::Optional("files_produced", &R::files_produced, "Files of $OUTPUT_DIR, in base64"),
        json::Required("timed_out", &R::timed_out), json::Optional("signal", &R::signal),
        json::Required("oom_killed", &R::oom_killed),
        json::Required("stdout_truncated", &R::stdout_truncated),
        json::Required("stderr_truncated", &R::stderr_truncated),
        json::Optional("cpu_time_ms", &R::cpu_time_ms),
        json::Optional("memory_peak_bytes", &R::memory_peak_bytes),
        json::Required("queue_ms", &R::queue_ms),
        json::Required("install_time_ms", &R::install_time_ms),
        json::Required("compile_time_ms", &R::compile_time_ms),
        json::Required("isolation", &R::isolation), json::Optional("language", &R::language),
        json::Required("timeout_seconds", &R::timeout_seconds),
        json::Optional("isolation_notes", &R::isolation_notes),
        json::Optional("limits_lowered", &R::limits_lowered),
        json::Optional("compile_output", &R::compile_output),
        json::Optional("requirements_ignored", &R::requirements_ignored),
        json::Optional("files_left_out", &R::files_left_out),
        json::Optional("warnings", &R::warnings));
  }
};

std::string Lines(std::string text) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

std::string List(std::string_view heading, const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += fmt::format("({}: {})\n", heading, ShownPath(item));
  return text;
}

/// The words of the end are those of Bash.
std::string Text(const CodeResult& result) {
  std::string text = Lines(result.output);
  if (!result.errors.empty()) text += "--- stderr ---\n" + Lines(result.errors);
  if (result.compile_output) text += "--- compiler ---\n" + Lines(*result.compile_output);
  for (const auto& [path, content] : result.files_produced) {
    text += fmt::format("(produced {}: {} bytes in base64)\n", ShownPath(path), content.size());
  }
  text += List("left out", result.files_left_out);
  text += List("not installed", result.requirements_ignored);
  text += List("lowered", result.limits_lowered);
  text += List("isolation", result.isolation_notes);
  text += List("warning", result.warnings);
  if (result.timed_out) text += fmt::format("timed out after {:g}s\n", result.timeout_seconds);
  if (result.oom_killed) text += "killed: out of memory\n";
  if (result.signal) text += fmt::format("killed by {}\n", *result.signal);
  return text + fmt::format("exit: {}\n", result.exit_code);
}

/// Cuts one stream to `characters`, if it is longer: the beginning and the end stay.
void Cut(std::string& stream, bool& truncated, std::size_t characters) {
  if (stream.size() <= characters) return;
  stream = Shortened(stream, characters);
  truncated = true;
}

/// Makes the answer fit into the budget. Files that do not fit are named.
void Fit(CodeResult& result, std::int64_t budget_tokens) {
  std::size_t left = static_cast<std::size_t>(budget_tokens) * kCharactersPerToken;
  const std::size_t errors = std::min(result.errors.size(), left / kErrorShare);
  Cut(result.output, result.stdout_truncated, left - errors);
  left -= std::min(left, result.output.size());
  Cut(result.errors, result.stderr_truncated, left);
  left -= std::min(left, result.errors.size());
  if (result.compile_output && result.compile_output->size() > left) {
    result.compile_output = Shortened(*result.compile_output, left);
  }
  for (auto file = result.files_produced.begin(); file != result.files_produced.end();) {
    if (file->second.size() <= left) {
      left -= file->second.size();
      ++file;
      continue;
    }
    result.files_left_out.push_back(
        fmt::format("{}: {} bytes in base64 do not fit into the answer; a larger budget_tokens "
                    "shows it",
                    file->first, file->second.size()));
    file = result.files_produced.erase(file);
  }
}

/// Passes the stages on as progress. Their number is the unit.
std::function<void(std::string_view)> Reporter(const Context& context) {
  if (!context.progress) return {};
  return [report = context.progress, done = 0.0](std::string_view stage) mutable {
    report({.done = ++done, .message = std::string(stage)});
  };
}

Result<CodeResult> Execute(const Context& context, const CodeArguments& arguments) {
  if (context.code == nullptr) {
    return Error(ErrorKind::kUnavailable, "this server runs no programs");
  }
  POLYBOX_ASSIGN_OR_RETURN(
      const std::string answer,
      context.code->Run(
          json::Write(json::Encode(arguments)),
          {.principal = context.principal, .stop = context.stop, .on_stage = Reporter(context)}));
  POLYBOX_ASSIGN_OR_RETURN(const json::Value value, json::Parse(answer, kLargestResult));
  POLYBOX_ASSIGN_OR_RETURN(CodeResult result, json::Decode<CodeResult>(value, "result"));
  Fit(result, context.budget_tokens);
  return result;
}

}  // namespace

Tool ExecuteCodeTool() {
  return MakeTool<CodeArguments, CodeResult>(
      {.name = "execute_code",
       .title = "Run a program",
       .description = "Runs a program in a new jail, which sees no file of the workspace. What it "
                      "leaves in $OUTPUT_DIR comes back.",
       .group = "execute",
       .annotations =
           {.read_only = false, .destructive = false, .idempotent = false, .open_world = true}},
      Execute);
}

}  // namespace polybox::tools

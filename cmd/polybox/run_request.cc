#include "run_request.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "base/files.h"
#include "base/printable.h"
#include "exec/words.h"
#include "packages/requirements_file.h"

namespace polybox::cmd {
namespace {

using languages::Language;

/// Returns the error of a wrong flag, which ends polybox with the exit code of wrong usage.
Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

/// Parses a time into `out` when the flag was given. A bare number is in seconds.
Status ReadTime(const std::string& flag, const std::string& text, std::optional<Duration>& out) {
  if (text.empty()) return {};
  const std::string intent = fmt::format("{} \"{}\"", flag, Printable(text, 100));
  POLYBOX_ASSIGN_OR_RETURN(out, ParseTypedDuration(text).In(intent));
  if (out->count() == 0) return Invalid(intent + ": expected more than nothing");
  return {};
}

/// The same for a size. A bare number is in bytes.
Status ReadSize(const std::string& flag, const std::string& text, std::optional<Bytes>& out) {
  if (text.empty()) return {};
  const std::string intent = fmt::format("{} \"{}\"", flag, Printable(text, 100));
  POLYBOX_ASSIGN_OR_RETURN(out, ParseTypedBytes(text).In(intent));
  if (out->count() == 0) return Invalid(intent + ": expected more than nothing");
  return {};
}

/// Reads the flag of a limit into `overrides`.
Status ReadLimit(const limits::Limit& limit, const std::string& text, exec::Overrides& overrides) {
  return std::visit(
      [&]<typename T>(const limits::Member<T>& member) -> Status {
        if constexpr (std::is_same_v<T, Duration>) {
          return ReadTime(std::string(limit.flag.name), text, overrides.*member.change);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          return ReadSize(std::string(limit.flag.name), text, overrides.*member.change);
        }
        return {};  // No count has a flag: limits/table.cc.
      },
      limit.member);
}

/// Reads the flags of all limits that have one.
Status ReadLimits(const RunFlags& flags, exec::Overrides& run) {
  for (std::size_t i = 0; i < limits::kLimits.size(); ++i) {
    if (flags.limits[i].empty()) continue;
    POLYBOX_RETURN_IF_ERROR(ReadLimit(limits::kLimits[i], flags.limits[i], run));
  }
  return {};
}

/// Adds the requirements of files after those of flags. Refuses requirements for a language that
/// installs nothing, since its program would miss them.
Status ReadRequirements(const RunFlags& flags, const Language& language, exec::Program& program) {
  program.requirements = flags.requirements;
  for (const std::string& path : flags.requirements_files) {
    POLYBOX_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, Bytes::MiB(1)));
    POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> more,
                             packages::ParseRequirements(text, path));
    program.requirements.insert(program.requirements.end(), more.begin(), more.end());
  }
  const bool takes = language.packages && !language.packages->requirement_form.empty();
  if (program.requirements.empty() || takes) return {};
  return Invalid(fmt::format("--requirement: {} installs no packages on request", language.name));
}

/// Reads the variables of --env. If a name is given twice, the last value counts.
Status ReadEnv(const std::vector<std::string>& words, std::map<std::string, std::string>& env) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Invalid(fmt::format("--env \"{}\": expected NAME=VALUE", Printable(word, 100)));
    }
    env[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return {};
}

}  // namespace

Result<exec::Request> RequestOf(const RunFlags& flags, const Language& language,
                                std::vector<jail::InputFile> files) {
  exec::Program program;
  program.language = language.id;
  program.files = std::move(files);
  program.args = flags.args;
  program.compile_memory_from = "--compile-memory";
  exec::Request request;
  // Output goes to the terminal as it arrives. So the limit can only end the run, not shorten the
  // output.
  request.output_rule = exec::OutputRule::kEndRun;
  request.run_memory_from = "--memory";
  POLYBOX_RETURN_IF_ERROR(ReadLimits(flags, request.run));
  POLYBOX_RETURN_IF_ERROR(
      ReadTime("--install-timeout", flags.install_timeout, program.install_time));
  program.install_time_name = "--install-timeout";
  POLYBOX_RETURN_IF_ERROR(ReadRequirements(flags, language, program));
  POLYBOX_RETURN_IF_ERROR(ReadEnv(flags.env, program.env));
  POLYBOX_RETURN_IF_ERROR(exec::CheckWords(program.args, program.env));
  if (flags.overwrite && flags.output.empty()) return Invalid("--overwrite needs --output DIR");
  request.work = std::move(program);
  return request;
}

std::string Advice(const RunFlags& flags, jail::End end) {
  const struct {
    jail::End end;
    std::string_view flag;
    const char* value;
  } rows[] = {{jail::End::kTimedOut, "--timeout", "TIME"},
              {jail::End::kOutputLimit, "--output-limit", "SIZE"}};
  for (const auto& row : rows) {
    const auto* limit = std::ranges::find(limits::kLimits, row.flag,
                                          [](const limits::Limit& each) { return each.flag.name; });
    const auto index = static_cast<std::size_t>(limit - limits::kLimits.begin());
    if (row.end == end && flags.limits.at(index).empty()) {
      return fmt::format(" ({} {} allows more)", row.flag, row.value);
    }
  }
  return "";
}

}  // namespace polybox::cmd

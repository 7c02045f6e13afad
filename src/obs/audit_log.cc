#include "obs/audit_log.h"

#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/printable.h"

namespace polybox::obs {
namespace {

/// Names of callers and workspaces are short; a longer one is cut.
constexpr std::size_t kLongestText = 200;

std::string Quoted(std::string_view text) {
  return '"' + PrintableForQuotes(text, kLongestText) + '"';
}

/// Returns a time as 2026-07-28T14:30:22.123Z.
std::string TimeText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", std::string_view(text, size), milliseconds);
}

}  // namespace

Result<AuditLog> AuditLog::Open(const std::string& path, const log::Logger& log) {
  Result<UniqueFd> file = OpenFile(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (!file.ok()) return std::move(file).error().In("audit-log");
  return AuditLog(std::move(file).value(), log);
}

void AuditLog::Record(const ToolCall& call) {
  std::string line = fmt::format(
      R"({{"time":"{}","event":"tool_call","tool":{},"status":"{}","principal":{},"workspace":{})",
      TimeText(call.start), Quoted(call.tool), NameOf(call.status), Quoted(call.principal),
      Quoted(call.workspace));
  line +=
      fmt::format(R"(,"request_id":{},"argument_bytes":{},"answer_bytes":{},"duration_ms":{:.3f})",
                  Quoted(call.request_id), call.argument_bytes, call.answer_bytes,
                  std::chrono::duration<double, std::milli>(call.time).count());
  if (call.exit_code) line += fmt::format(R"(,"exit_code":{})", *call.exit_code);
  if (call.parent) line += fmt::format(R"(,"trace_id":"{}")", call.parent->trace_id);
  Append(line + "}\n");
}

void AuditLog::Record(const SecretAccess& access) {
  Append(fmt::format(
      "{{\"time\":\"{}\",\"event\":\"secret\",\"secret\":{},\"principal\":{},\"source\":{},"
      "\"bytes\":{}}}\n",
      TimeText(std::chrono::system_clock::now()), Quoted(access.name), Quoted(access.principal),
      Quoted(access.source), access.bytes));
}

void AuditLog::Append(const std::string& line) {
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  const Error error = Error::FromErrno("write", written < 0 ? errno : ENOSPC);
  log_.Error("a line of the audit log is lost", {{"why", error.message()}});
}

}  // namespace polybox::obs

#include "base/log.h"

// Debian builds spdlog for a separate fmt library; this must be said before its headers.
#define SPDLOG_FMT_EXTERNAL
#define SPDLOG_HEADER_ONLY
#include <cmath>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "base/printable.h"

namespace polybox::log {
namespace {

// The longest text on a line. A log line identifies things and does not contain their data.
constexpr std::size_t kLongestText = 1024;

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %^%5l%$ %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v})";

spdlog::level::level_enum SpdlogLevel(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string Quoted(std::string_view text) {
  return '"' + PrintableForQuotes(text, kLongestText) + '"';
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  // JSON has no representation of infinity and NaN.
  std::string operator()(double value) const {
    return std::isfinite(value) ? fmt::format("{}", value) : "null";
  }
  std::string operator()(const std::string& value) const { return Quoted(value); }
};

void AppendText(std::string& line, const Field& field) {
  line += ' ' + field.key() + '=' + std::visit(ValueText(), field.value());
}

void AppendJson(std::string& line, const Field& field) {
  line += ',' + Quoted(field.key()) + ':' + std::visit(ValueText(), field.value());
}

std::shared_ptr<spdlog::logger> MakeSink(spdlog::sink_ptr sink, const Options& options) {
  auto logger = std::make_shared<spdlog::logger>("polybox", std::move(sink));
  logger->set_level(SpdlogLevel(options.level));
  logger->set_pattern(options.format == Format::kJson ? kJsonPattern : kTextPattern,
                      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::debug);
  return logger;
}

}  // namespace

std::optional<Level> ParseLevel(std::string_view name) {
  constexpr std::pair<std::string_view, Level> kNames[] = {{"debug", Level::kDebug},
                                                           {"info", Level::kInfo},
                                                           {"warn", Level::kWarn},
                                                           {"error", Level::kError}};
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

Logger::Logger(std::shared_ptr<spdlog::logger> sink, const Options& options)
    : sink_(std::move(sink)), format_(options.format) {}

Logger Logger::ToStderr(const Options& options) {
  const auto mode = options.colour ? spdlog::color_mode::always : spdlog::color_mode::never;
  return {MakeSink(std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(mode), options),
          options};
}

Logger Logger::ToStream(std::ostream& out, const Options& options) {
  return {MakeSink(std::make_shared<spdlog::sinks::ostream_sink_mt>(out), options), options};
}

Logger Logger::With(std::initializer_list<Field> fields) const {
  Logger copy = *this;
  copy.fields_.insert(copy.fields_.end(), fields);
  return copy;
}

void Logger::Debug(std::string_view message, std::initializer_list<Field> fields) const {
  Write(Level::kDebug, message, fields);
}
void Logger::Info(std::string_view message, std::initializer_list<Field> fields) const {
  Write(Level::kInfo, message, fields);
}
void Logger::Warn(std::string_view message, std::initializer_list<Field> fields) const {
  Write(Level::kWarn, message, fields);
}
void Logger::Error(std::string_view message, std::initializer_list<Field> fields) const {
  Write(Level::kError, message, fields);
}

void Logger::Write(Level level, std::string_view message,
                   std::initializer_list<Field> fields) const {
  if (!sink_->should_log(SpdlogLevel(level))) return;
  // The pattern of the sink adds the time and the level; this text is the rest of the line.
  const bool json = format_ == Format::kJson;
  std::string line = json ? "\"message\":" + Quoted(message) : Printable(message, kLongestText);
  const auto append = json ? AppendJson : AppendText;
  for (const Field& field : fields_) append(line, field);
  for (const Field& field : fields) append(line, field);
  sink_->log(SpdlogLevel(level), "{}", line);
}

}  // namespace polybox::log

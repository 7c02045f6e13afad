// output_query: reads stored output of a command by lines, by a pattern, or from an offset.
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "shells/line_scan.h"
#include "tools/budget.h"
#include "tools/grep_pattern.h"
#include "tools/output_view.h"
#include "tools/shell_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

constexpr std::int64_t kMostContext = 100;
constexpr std::size_t kCharactersPerToken = 4;
/// The number of a line with what stands around it.
constexpr std::size_t kPerLine = 8;

struct OutputQueryArguments {
  std::string shell_id;
  std::string stream = {};
  std::int64_t first_line = 1;
  std::optional<std::int64_t> last_line = {};
  std::string pattern = {};
  std::int64_t context = 0;
  std::optional<std::int64_t> from_byte = {};

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("shell_id", &OutputQueryArguments::shell_id),
        json::Optional("stream", &OutputQueryArguments::stream,
                       "stdout or stderr of a background command"),
        json::Optional("first_line", &OutputQueryArguments::first_line,
                       "From 1; below 0 counts from the end"),
        json::Optional("last_line", &OutputQueryArguments::last_line),
        json::Optional("pattern", &OutputQueryArguments::pattern, "RE2: only matching lines"),
        json::Optional("context", &OutputQueryArguments::context, "Lines around a match")
            .Min(0)
            .Max(kMostContext),
        json::Optional("from_byte", &OutputQueryArguments::from_byte,
                       "Read text from this offset instead")
            .Min(0));
  }
};

struct LineData {
  std::int64_t line = 0;
  std::string text = {};
  std::optional<bool> match = {};
  std::optional<std::int64_t> cut_bytes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("line", &LineData::line),
                      json::Required("text", &LineData::text),
                      json::Optional("match", &LineData::match),
                      json::Optional("cut_bytes", &LineData::cut_bytes));
  }
};

struct OutputQueryResult {
  std::string stream = {};
  std::int64_t bytes = 0;
  std::int64_t total_lines = 0;
  std::vector<LineData> lines = {};
  std::int64_t matches = 0;
  std::int64_t left_out_lines = 0;
  std::optional<std::string> content = {};
  std::optional<std::int64_t> next_byte = {};
  std::optional<std::int64_t> next_line = {};
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("stream", &OutputQueryResult::stream),
                      json::Required("bytes", &OutputQueryResult::bytes),
                      json::Required("total_lines", &OutputQueryResult::total_lines),
                      json::Required("lines", &OutputQueryResult::lines),
                      json::Required("matches", &OutputQueryResult::matches),
                      json::Required("left_out_lines", &OutputQueryResult::left_out_lines),
                      json::Optional("content", &OutputQueryResult::content),
                      json::Optional("next_byte", &OutputQueryResult::next_byte),
                      json::Optional("next_line", &OutputQueryResult::next_line),
                      json::Required("notes", &OutputQueryResult::notes));
  }
};

std::string Text(const OutputQueryResult& result) {
  std::string text = result.content.value_or("");
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  for (const LineData& line : result.lines) {
    const char mark = !line.match ? '\t' : *line.match ? ':' : '-';
    text += fmt::format("{}{}{}", line.line, mark, line.text);
    if (line.cut_bytes) text += fmt::format(" ({} bytes left out)", *line.cut_bytes);
    text += '\n';
  }
  return text + NoteLines(result.notes);
}

/// Takes lines into the result until the budget is spent.
class Picker {
 public:
  Picker(const Context& context, const OutputQueryArguments& arguments, OutputQueryResult& result)
      : arguments_(arguments), result_(result), budget_(context.budget_tokens) {}

  void Take(const shells::ScannedLine& line, std::optional<bool> match) {
    std::string text = ReadableText(line.text);
    if (!budget_.Take(text.size() + kPerLine)) {
      if (result_.lines.empty()) return TakePart(line, std::move(text), match);
      if (!result_.next_line) result_.next_line = line.number;
      ++result_.left_out_lines;
      return;
    }
    Push(line, std::move(text), match);
  }

  /// With a pattern: shows matching lines and those around them.
  void Search(const GrepPattern& pattern, const shells::ScannedLine& line) {
    if (pattern.Find(line.text, 0)) {
      ++result_.matches;
      for (const Kept& kept : before_) Take(kept.Line(), false);
      before_.clear();
      after_ = arguments_.context;
      return Take(line, true);
    }
    if (after_ > 0) {
      --after_;
      return Take(line, false);
    }
    if (arguments_.context == 0) return;
    before_.push_back({line, std::string(line.text)});
    if (static_cast<std::int64_t>(before_.size()) > arguments_.context) before_.pop_front();
  }

 private:
  struct Kept {
    shells::ScannedLine line;
    std::string text;

    shells::ScannedLine Line() const {
      shells::ScannedLine copy = line;
      copy.text = text;
      return copy;
    }
  };

  void TakePart(const shells::ScannedLine& line, std::string text, std::optional<bool> match) {
    text.resize(std::min(text.size(), budget_.left()));
    Push(line, std::move(text), match);
  }

  void Push(const shells::ScannedLine& line, std::string text, std::optional<bool> match) {
    LineData data = {.line = line.number, .text = std::move(text), .match = match};
    if (line.size > data.text.size() && line.size > line.text.size()) {
      data.cut_bytes = static_cast<std::int64_t>(line.size - data.text.size());
      result_.notes.push_back(fmt::format("line {} has {} bytes; from_byte={} reads it",
                                          line.number, line.size, line.offset));
    }
    result_.lines.push_back(std::move(data));
  }

  const OutputQueryArguments& arguments_;
  OutputQueryResult& result_;
  Budget budget_;
  std::deque<Kept> before_;
  std::int64_t after_ = 0;
};

Status ReadLines(const Context& context, const OutputQueryArguments& arguments,
                 const shells::OutputLog& log, OutputQueryResult& result) {
  std::optional<GrepPattern> pattern;
  if (!arguments.pattern.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(GrepPattern compiled,
                             GrepPattern::Compile(arguments.pattern, Case::kMatters, Reach::kLine));
    pattern.emplace(std::move(compiled));
  }
  std::int64_t first = arguments.first_line;
  if (first < 0) first += result.total_lines + 1;
  const std::int64_t last = arguments.last_line.value_or(result.total_lines);
  Picker picker(context, arguments, result);
  shells::ScanLines(log, [&](const shells::ScannedLine& line) {
    if (line.number > last || context.stop.stop_requested()) return false;
    if (line.number < first) return true;
    pattern ? picker.Search(*pattern, line) : picker.Take(line, std::nullopt);
    return true;
  });
  if (result.left_out_lines != 0) {
    result.notes.push_back(fmt::format("{} more lines left out; first_line={} reads on",
                                       result.left_out_lines, *result.next_line));
  }
  return {};
}

void ReadBytes(const Context& context, std::uint64_t from, const shells::OutputLog& log,
               OutputQueryResult& result) {
  const auto most = static_cast<std::size_t>(context.budget_tokens) * kCharactersPerToken;
  const shells::Chunk chunk = shells::ReadOn(log, from, most);
  if (chunk.begin > from && !chunk.bytes.empty()) {
    result.notes.push_back(fmt::format("read from byte {}: those before it are lost", chunk.begin));
  }
  result.content = ReadableText(chunk.bytes);
  const std::uint64_t end = chunk.begin + chunk.bytes.size();
  result.next_byte = static_cast<std::int64_t>(end);
  if (end < static_cast<std::uint64_t>(result.bytes)) {
    result.notes.push_back(fmt::format("{} more bytes; from_byte={} reads on",
                                       static_cast<std::uint64_t>(result.bytes) - end, end));
  }
}

Result<OutputQueryResult> OutputQuery(const Context& context,
                                      const OutputQueryArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const std::shared_ptr<shells::Shell> shell,
                           call.Find(arguments.shell_id));
  OutputQueryResult result = {.stream = arguments.stream.empty() ? shell->streams().front().name
                                                                 : arguments.stream};
  const shells::OutputLog* log = shell->FindStream(result.stream);
  if (log == nullptr) {
    std::string names;
    for (const shells::Stream& stream : shell->streams()) {
      names += (names.empty() ? "" : " or ") + stream.name;
    }
    return Error(ErrorKind::kInvalid, "stream must be " + names + " for this shell_id");
  }
  const shells::Extent extent = log->extent();
  result.bytes = static_cast<std::int64_t>(extent.end);
  result.total_lines = shells::LineCount(*log);
  if (extent.lost() != 0) {
    result.notes.push_back(
        fmt::format("bytes {} to {} are lost: the output was larger than its store",
                    extent.head_end, extent.tail_begin));
  }
  if (arguments.from_byte) {
    ReadBytes(context, static_cast<std::uint64_t>(*arguments.from_byte), *log, result);
  } else {
    POLYBOX_RETURN_IF_ERROR(ReadLines(context, arguments, *log, result));
  }
  return result;
}

}  // namespace

Tool OutputQueryTool() {
  return MakeTool<OutputQueryArguments, OutputQueryResult>(
      {.name = "output_query",
       .title = "Search stored output",
       .description = "Reads the stored output of a command with a shell_id: lines, lines that "
                      "match a pattern, or bytes.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kCommands},
      OutputQuery);
}

}  // namespace polybox::tools

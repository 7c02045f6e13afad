// BashOutput: what a command has written so far, and how it is.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tools/output_resource.h"
#include "tools/output_view.h"
#include "tools/shell_call.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

/// Below the 60 seconds after which many clients give a call up.
constexpr std::chrono::seconds kLongestWait{50};
constexpr std::size_t kCharactersPerToken = 4;

struct BashOutputArguments {
  std::string shell_id;
  std::string since = {};
  double wait = 0;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("shell_id", &BashOutputArguments::shell_id),
        json::Optional("since", &BashOutputArguments::since, "A cursor: only what came after it"),
        json::Optional("wait", &BashOutputArguments::wait, "Seconds to wait for more, at most 50"));
  }
};

struct StreamData {
  std::string name = {};
  std::int64_t bytes = 0;
  std::int64_t from = 0;
  std::string content = {};
  std::int64_t left_out_bytes = 0;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("name", &StreamData::name), json::Required("bytes", &StreamData::bytes),
        json::Required("from", &StreamData::from), json::Required("content", &StreamData::content),
        json::Required("left_out_bytes", &StreamData::left_out_bytes));
  }
};

struct BashOutputResult {
  std::string shell_id = {};
  std::string command = {};
  std::string status = {};
  std::optional<std::int64_t> exit_code = {};
  std::string started = {};
  std::string cursor = {};
  std::vector<StreamData> streams = {};
  std::vector<ViolationData> violations = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &BashOutputResult::shell_id),
                      json::Required("command", &BashOutputResult::command),
                      json::Required("status", &BashOutputResult::status),
                      json::Optional("exit_code", &BashOutputResult::exit_code),
                      json::Required("started", &BashOutputResult::started),
                      json::Required("cursor", &BashOutputResult::cursor),
                      json::Required("streams", &BashOutputResult::streams),
                      json::Required("violations", &BashOutputResult::violations));
  }
};

std::string Text(const BashOutputResult& result) {
  std::string text = fmt::format("command: {}\nstatus: {}\nstarted: {}\ncursor: {}\n\n",
                                 result.command, result.status, result.started, result.cursor);
  for (const StreamData& stream : result.streams) {
    const std::string from = stream.from == 0 ? "" : fmt::format(", from {}", stream.from);
    text += fmt::format("--- {} ({} bytes{}){} ---\n", stream.name, stream.bytes, from,
                        stream.left_out_bytes == 0 ? "" : " [TRUNCATED]");
    text += stream.content;
    if (!stream.content.empty() && !stream.content.ends_with('\n')) text += '\n';
  }
  const bool is_cut = std::ranges::any_of(result.streams, &StreamData::left_out_bytes);
  if (is_cut)
    text += fmt::format("(output_query with shell_id {} reads the rest)\n", result.shell_id);
  return text + ViolationLines(result.violations);
}

/// Shows the text, and where the rest of each stream is.
std::vector<Block> Blocks(const BashOutputResult& result) {
  std::vector<Block> blocks = {TextBlock{Text(result)}};
  for (const StreamData& stream : result.streams) {
    if (stream.left_out_bytes == 0) continue;
    blocks.emplace_back(
        LinkToOutput(result.shell_id, stream.name, static_cast<std::uint64_t>(stream.bytes)));
  }
  return blocks;
}

/// Reads a cursor: an offset for each stream, as in "120.0".
Result<std::vector<std::uint64_t>> ReadCursor(std::string_view cursor, std::size_t streams) {
  std::vector<std::uint64_t> offsets;
  std::string_view rest = cursor;
  while (!rest.empty()) {
    std::uint64_t offset = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), offset);
    if (error != std::errc()) break;
    offsets.push_back(offset);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty() || rest.front() != '.') break;
    rest.remove_prefix(1);
  }
  if (offsets.empty() && cursor.empty()) offsets.resize(streams);
  if (offsets.size() == streams && rest.empty()) return offsets;
  return Error(ErrorKind::kInvalid,
               "since must be a cursor that BashOutput gave for this shell_id");
}

/// Waits until there is output behind the cursor, or the command has ended.
void AwaitMore(const Context& context, shells::Shell& shell,
               const std::vector<std::uint64_t>& offsets, Duration most) {
  const auto has_more = [&] {
    if (context.stop.stop_requested() || !shell.IsAlive()) return true;
    if (shell.Wait(Duration::zero())) return true;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (shell.streams()[i].log->extent().end > offsets[i]) return true;
    }
    return false;
  };
  shell.Await(has_more, most);
}

void AddStreams(const shells::Shell& shell, const std::vector<std::uint64_t>& offsets,
                std::size_t characters, BashOutputResult& result) {
  const std::size_t streams = offsets.size();
  for (std::size_t i = 0; i < streams; ++i) {
    const shells::OutputLog& log = *shell.streams()[i].log;
    const std::uint64_t end = log.extent().end;
    const std::uint64_t from = std::min(offsets[i], end);
    // What one stream does not need is for the next.
    std::size_t share = characters;
    if (i + 1 < streams) {
      const shells::Extent next = shell.streams()[i + 1].log->extent();
      const std::uint64_t wanted = next.end - std::min(next.end, offsets[i + 1]);
      share -= std::min<std::uint64_t>(wanted, characters / 2);
    }
    const OutputView view = ViewOf(log, from, share);
    characters -= std::min(characters, view.text.size());
    result.streams.push_back({.name = shell.streams()[i].name,
                              .bytes = static_cast<std::int64_t>(view.end),
                              .from = static_cast<std::int64_t>(from),
                              .content = view.text,
                              .left_out_bytes = static_cast<std::int64_t>(view.left_out)});
    result.cursor += fmt::format("{}{}", i == 0 ? "" : ".", view.end);
  }
}

Result<BashOutputResult> BashOutput(const Context& context, const BashOutputArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const std::shared_ptr<shells::Shell> shell,
                           call.Find(arguments.shell_id));
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> offsets,
                           ReadCursor(arguments.since, shell->streams().size()));
  AwaitMore(context, *shell, offsets, SecondsOf(arguments.wait, {}, kLongestWait));
  BashOutputResult result = {.shell_id = shell->id(),
                             .command = shell->options().command,
                             .status = StatusOf(*shell),
                             .started = TimeText(shell->started())};
  // After the status: what an ended command wrote is complete.
  if (const auto outcome = shell->Wait(Duration::zero())) {
    result.exit_code = shells::ExitCodeOf(*outcome);
  }
  AddStreams(*shell, offsets, static_cast<std::size_t>(context.budget_tokens) * kCharactersPerToken,
             result);
  result.violations = ViolationsOf(call.machine(), *shell);
  return result;
}

}  // namespace

Tool BashOutputTool() {
  return MakeTool<BashOutputArguments, BashOutputResult>(
      {.name = "BashOutput",
       .title = "Output of a command",
       .description = "Shows status and output of a command with a shell_id. Pass its cursor as "
                      "since to get only what is new.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kCommands},
      BashOutput);
}

}  // namespace polybox::tools

// watch_process_events: what happened to a watched command.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "tools/budget.h"
#include "tools/shell_call.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

using Kind = shells::Event::Kind;

constexpr std::chrono::seconds kLongestWait{50};
constexpr std::size_t kShownText = 600;
/// The header, and the time, kind and punctuation of an event in both forms.
constexpr std::size_t kPerEvent = 60;

struct WatchEventsArguments {
  std::string shell_id;
  std::int64_t since_event_id = 0;
  double wait = 0;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("shell_id", &WatchEventsArguments::shell_id),
        json::Optional("since_event_id", &WatchEventsArguments::since_event_id,
                       "Only events after this one"),
        json::Optional("wait", &WatchEventsArguments::wait, "Seconds to wait for one, at most 50"));
  }
};

struct EventData {
  std::int64_t id = 0;
  std::string time = {};
  std::string kind = {};
  std::optional<std::string> matched = {};
  std::optional<std::string> text = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("id", &EventData::id), json::Required("time", &EventData::time),
        json::Required("kind", &EventData::kind), json::Optional("matched", &EventData::matched),
        json::Optional("text", &EventData::text));
  }
};

struct WatchEventsResult {
  std::string shell_id = {};
  std::string command = {};
  std::string status = {};
  std::vector<std::string> error_patterns = {};
  std::int64_t dropped = 0;
  std::vector<EventData> events = {};
  std::int64_t left_out = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &WatchEventsResult::shell_id),
                      json::Required("command", &WatchEventsResult::command),
                      json::Required("status", &WatchEventsResult::status),
                      json::Required("error_patterns", &WatchEventsResult::error_patterns),
                      json::Required("dropped", &WatchEventsResult::dropped),
                      json::Required("events", &WatchEventsResult::events),
                      json::Required("left_out", &WatchEventsResult::left_out));
  }
};

std::string LineOf(const EventData& event) {
  std::string line = fmt::format("[{}] {}  {}", event.id, event.time, event.kind);
  if (event.matched) line += fmt::format("  (matched \"{}\")", *event.matched);
  if (event.text) line += "  " + *event.text;
  return line + "\n";
}

std::string Text(const WatchEventsResult& result) {
  std::string text = fmt::format("shell_id: {}\ncommand: {}\nstatus: {}\n", result.shell_id,
                                 result.command, result.status);
  if (!result.error_patterns.empty()) {
    text += fmt::format("error_patterns: {}\n", fmt::join(result.error_patterns, " | "));
  }
  if (result.dropped != 0) {
    text += fmt::format("NOTE: {} earlier events dropped (per-shell cap of 1024 reached)\n",
                        result.dropped);
  }
  text += fmt::format("\n--- events ({}) ---\n", result.events.size());
  for (const EventData& event : result.events) text += LineOf(event);
  if (result.left_out != 0) {
    text += fmt::format("({} later events left out; since_event_id={} reads on)\n", result.left_out,
                        result.events.empty() ? 0 : result.events.back().id);
  }
  return text;
}

std::string KindName(Kind kind) {
  switch (kind) {
    case Kind::kStarted:
      return "started";
    case Kind::kError:
      return "error";
    case Kind::kIdleTimeout:
      return "idle_timeout";
    case Kind::kExited:
      break;
  }
  return "exited";
}

EventData DataOf(const shells::Event& event) {
  EventData data = {.id = event.id, .time = TimeText(event.time), .kind = KindName(event.kind)};
  if (event.kind == Kind::kError) data.matched = event.matched;
  if (!event.text.empty()) data.text = Printable(event.text, kShownText);
  return data;
}

Result<WatchEventsResult> WatchEvents(const Context& context,
                                      const WatchEventsArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const std::shared_ptr<shells::Shell> shell,
                           call.Find(arguments.shell_id));
  const shells::EventLog* log = shell->events();
  if (log == nullptr) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("shell_id {} was not started by watch_process; use BashOutput instead",
                             shell->id()));
  }
  shell->Await(
      [&] {
        return context.stop.stop_requested() || log->last_id() > arguments.since_event_id ||
               !shell->IsAlive();
      },
      SecondsOf(arguments.wait, {}, kLongestWait));
  WatchEventsResult result = {.shell_id = shell->id(),
                              .command = shell->options().command,
                              .status = StatusOf(*shell),
                              .error_patterns = log->patterns(),
                              .dropped = log->dropped()};
  Budget budget(context.budget_tokens);
  for (const shells::Event& event : log->Since(arguments.since_event_id)) {
    EventData data = DataOf(event);
    const bool fits = budget.Take(kPerEvent + data.text.value_or("").size());
    if (fits || result.events.empty()) {
      result.events.push_back(std::move(data));
    } else {
      ++result.left_out;
    }
  }
  return result;
}

}  // namespace

Tool WatchProcessEventsTool() {
  return MakeTool<WatchEventsArguments, WatchEventsResult>(
      {.name = "watch_process_events",
       .title = "Events of a watched command",
       .description = "Lists what happened to a command of watch_process: its start, matching "
                      "lines of stderr, an idle timeout, its end.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kCommands},
      WatchEvents);
}

}  // namespace polybox::tools

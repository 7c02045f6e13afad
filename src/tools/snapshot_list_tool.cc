// snapshot_list: the saved states of the workspace.
#include <fmt/format.h>

#include "tools/shell_call.h"
#include "tools/snapshot_call.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

/// As many digits as git shows of a name that is unlikely to become ambiguous.
constexpr std::size_t kShownDigits = 12;

struct ListArguments {
  static constexpr auto Members() { return std::tuple(); }
};

struct ListedSnapshot {
  std::string name = {};
  std::string commit = {};
  std::string time = {};
  std::string description = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &ListedSnapshot::name),
                      json::Required("commit", &ListedSnapshot::commit),
                      json::Required("time", &ListedSnapshot::time),
                      json::Required("description", &ListedSnapshot::description));
  }
};

struct ListResult {
  std::vector<ListedSnapshot> snapshots = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("snapshots", &ListResult::snapshots, "The newest is first"));
  }
};

std::string Text(const ListResult& result) {
  if (result.snapshots.empty()) return "no snapshots";
  std::string text;
  for (const ListedSnapshot& each : result.snapshots) {
    text += fmt::format("{}\t{}\t{}\t{}\n", each.name, each.commit.substr(0, kShownDigits),
                        each.time, each.description);
  }
  return text;
}

Result<ListResult> List(const Context& context, const ListArguments& /*arguments*/) {
  POLYBOX_ASSIGN_OR_RETURN(const SnapshotCall call, SnapshotCall::Begin(context, {}));
  ListResult result;
  if (call.store() == nullptr) return result;
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<snapshots::Snapshot> all,
                           call.store()->List().In("snapshot_list"));
  for (const snapshots::Snapshot& each : all) {
    result.snapshots.push_back({.name = each.name,
                                .commit = snapshots::Hex(each.commit),
                                .time = TimeText(std::chrono::system_clock::from_time_t(each.time)),
                                .description = each.message});
  }
  return result;
}

}  // namespace

Tool SnapshotListTool() {
  return MakeTool<ListArguments, ListResult>(
      {.name = "snapshot_list",
       .title = "List snapshots",
       .description = "Lists the snapshots with commit, time and description.",
       .group = "snapshots",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      List);
}

}  // namespace polybox::tools

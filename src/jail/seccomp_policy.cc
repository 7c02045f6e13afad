#include "jail/seccomp_policy.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "schema/reader.h"

namespace polybox::jail {
namespace {

using schema::Need;
using schema::Reader;

using Complaint = std::optional<std::string>;

constexpr int kLargestErrno = 133;  // EHWPOISON
/// The first system call that has the same number on all architectures.
constexpr std::int64_t kFirstSharedNumber = 424;
constexpr std::int64_t kLargestValue = 0xffffffff;

/// Returns nothing when `name` is no errno.
std::optional<int> ErrnoOf(const std::string& name) {
  for (int number = 1; number <= kLargestErrno; ++number) {
    const char* known = ::strerrorname_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

std::optional<sys::SeccompVerdict> VerdictOf(const std::string& action) {
  if (action == "allow") return sys::SeccompVerdict{sys::SeccompAction::kAllow, 0};
  if (action == "pretend") return sys::SeccompVerdict{sys::SeccompAction::kErrno, 0};
  if (action == "kill") return sys::SeccompVerdict{sys::SeccompAction::kKill, 0};
  if (action == "ask") return sys::SeccompVerdict{sys::SeccompAction::kAsk, 0};
  const std::optional<int> number = ErrnoOf(action);
  if (!number) return std::nullopt;
  return sys::SeccompVerdict{sys::SeccompAction::kErrno, *number};
}

/// These functions check one value of the policy file. They return a complaint, or nothing.
Complaint CheckAction(const std::string& action) {
  if (VerdictOf(action)) return std::nullopt;
  return "expected allow, kill, ask, pretend or the name of an errno such as EPERM";
}

Complaint CheckText(const std::string& text) {
  return text.empty() ? Complaint("expected some text") : std::nullopt;
}

Complaint CheckCall(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!name.empty() && std::ranges::all_of(name, allowed)) return std::nullopt;
  return "expected the name of a system call";
}

schema::Check<std::int64_t> Between(std::int64_t least, std::int64_t most) {
  return [least, most](const std::int64_t& number) -> Complaint {
    if (number >= least && number <= most) return std::nullopt;
    return fmt::format("expected a number from {} to {}", least, most);
  };
}

/// What was read so far, to refuse a call that is named twice and a number that is not used.
struct Seen {
  std::map<std::string, std::string> group_of_call;
  std::map<std::string, int> numbers;
};

void ReadAction(Reader& reader, sys::SeccompVerdict& out, std::string_view key = "action") {
  std::string action;
  reader.Read(key, action, Need::kRequired, CheckAction);
  if (const auto verdict = VerdictOf(action)) out = *verdict;
}

/// A reason is required in the file, for people. The program does not use it.
void ReadReason(Reader& reader) {
  std::string unused;
  reader.Read("reason", unused, Need::kRequired, CheckText);
}

void ReadValues(Reader& reader, std::vector<std::uint32_t>& out) {
  for (Reader& row : reader.SubList("values")) {
    std::string name;
    std::int64_t value = 0;
    row.Read("name", name, Need::kRequired, CheckText);
    row.Read("value", value, Need::kRequired, Between(0, kLargestValue));
    if (std::ranges::count(out, static_cast<std::uint32_t>(value)) != 0) {
      row.Conflict("value", "is in this list already");
    }
    out.push_back(static_cast<std::uint32_t>(value));
  }
  if (out.empty()) reader.Conflict("values", "expected at least one");
}

sys::SeccompCondition ReadCondition(Reader& reader) {
  sys::SeccompCondition out;
  std::int64_t argument = 0;
  std::string compare;
  reader.Read("argument", argument, Need::kRequired, Between(0, 5));
  reader.Read("compare", compare, Need::kRequired,
              schema::OneOf({"equals", "equals-whole", "has-bit", "has-no-bit"}));
  ReadValues(reader, out.values);
  out.argument = static_cast<unsigned>(argument);
  if (compare == "equals-whole") out.compare = sys::SeccompCompare::kEqualsWhole;
  if (compare == "has-bit") out.compare = sys::SeccompCompare::kHasBit;
  if (compare == "has-no-bit") out.compare = sys::SeccompCompare::kHasNoBit;
  return out;
}

/// Reads a case: its first condition is in the case itself, further ones are in `also`.
sys::SeccompCase ReadCase(Reader& reader) {
  sys::SeccompCase out;
  ReadReason(reader);
  ReadAction(reader, out.verdict);
  sys::SeccompCondition first = ReadCondition(reader);
  out.argument = first.argument;
  out.compare = first.compare;
  out.values = std::move(first.values);
  for (Reader& row : reader.SubList("also")) out.also.push_back(ReadCondition(row));
  return out;
}

void ReadGroup(Reader& reader, Seen& seen, std::vector<sys::SeccompRule>& out) {
  std::string name;
  std::vector<std::string> calls;
  sys::SeccompRule rule;
  reader.Read("name", name, Need::kRequired, CheckText);
  ReadReason(reader);
  ReadAction(reader, rule.verdict);
  reader.ReadSome("calls", calls, Need::kRequired, CheckCall);
  for (Reader& one : reader.SubList("case")) rule.cases.push_back(ReadCase(one));
  for (const std::string& call : calls) {
    const auto [at, added] = seen.group_of_call.emplace(call, name);
    if (!added) {
      reader.Conflict("calls", fmt::format("{} is in group \"{}\" already", call, at->second));
    }
    rule.syscall = call;
    const auto number = seen.numbers.find(call);
    rule.number = number == seen.numbers.end() ? std::nullopt : std::optional(number->second);
    out.push_back(rule);
  }
}

void ReadNumbers(Reader& reader, Seen& seen) {
  for (Reader& row : reader.SubList("numbers")) {
    std::string call;
    std::int64_t number = 0;
    row.Read("call", call, Need::kRequired, CheckCall);
    // The kernel's filters see numbers below 2^30; higher numbers are those of x32.
    row.Read("number", number, Need::kRequired, Between(kFirstSharedNumber, (1 << 30) - 1));
    if (!seen.numbers.emplace(call, static_cast<int>(number)).second) {
      row.Conflict("call", fmt::format("{} has a number already", call));
    }
  }
}

/// Call it after all groups are read.
void ReadClosedLast(Reader& reader, const Seen& seen, std::vector<sys::SeccompRule>& rules) {
  std::vector<std::string> calls;
  reader.Read("closed_last", calls, Need::kOptional, CheckCall);
  for (const std::string& call : calls) {
    if (!seen.group_of_call.contains(call)) {
      reader.Conflict("closed_last", fmt::format("no group names {}", call));
    }
  }
  for (sys::SeccompRule& rule : rules) {
    rule.closed_last = std::ranges::count(calls, rule.syscall) != 0;
  }
}

/// Reads the rules that replace others where there are no namespaces.
void ReadStricter(Reader& reader, const Seen& seen, std::vector<sys::SeccompRule>& out) {
  Seen again;
  again.numbers = seen.numbers;
  Reader landlock = reader.Sub("landlock");
  for (Reader& group : landlock.SubList("group")) ReadGroup(group, again, out);
  for (const auto& [call, group] : again.group_of_call) {
    if (!seen.group_of_call.contains(call)) {
      reader.Conflict("landlock", fmt::format("no other group names {}", call));
    }
  }
}

/// Replaces the rules of the system calls that `stricter` has rules for.
void Replace(const std::vector<sys::SeccompRule>& stricter, std::vector<sys::SeccompRule>& rules) {
  for (sys::SeccompRule& rule : rules) {
    const auto found = std::ranges::find(stricter, rule.syscall, &sys::SeccompRule::syscall);
    if (found != stricter.end()) rule = *found;
  }
}

void ReadPolicy(Reader& reader, Grade grade, sys::SeccompRules& out) {
  Seen seen;
  ReadAction(reader, out.otherwise, "otherwise");
  ReadNumbers(reader, seen);
  for (Reader& group : reader.SubList("group")) ReadGroup(group, seen, out.rules);
  std::vector<sys::SeccompRule> stricter;
  ReadStricter(reader, seen, stricter);
  if (!HasNamespaces(grade)) Replace(stricter, out.rules);
  ReadClosedLast(reader, seen, out.rules);
  for (const auto& [call, number] : seen.numbers) {
    if (!seen.group_of_call.contains(call)) {
      reader.Conflict("numbers", fmt::format("no group names {}", call));
    }
  }
}

}  // namespace

Result<sys::SeccompRules> ParseSeccompPolicy(std::string_view text, const std::string& file,
                                             Grade grade) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(text, file));
  schema::Problems problems(file);
  sys::SeccompRules rules;
  {
    Reader reader(table, problems);
    ReadPolicy(reader, grade, rules);
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return rules;
}

Result<sys::SeccompRules> BuiltinSeccompRules(Grade grade) {
  const EmbeddedFile& file = PolicyFiles()[0];
  return ParseSeccompPolicy(file.content, std::string(file.name), grade);
}

/// In grades without namespaces the slot init makes calls that no guest may, so all rules are in
/// the guest's part.
Result<GuestFilter> BuiltinGuestFilter(Grade grade) {
  GuestFilter filter;
  if (grade == Grade::kNone) return filter;
  POLYBOX_ASSIGN_OR_RETURN(const sys::SeccompRules rules, BuiltinSeccompRules(grade));
  if (HasNamespaces(grade)) {
    const auto [first, last] = sys::Split(rules);
    POLYBOX_ASSIGN_OR_RETURN(filter.of_slot, sys::CompileSeccomp(first));
    POLYBOX_ASSIGN_OR_RETURN(filter.of_guest, sys::CompileSeccomp(last));
  } else {
    POLYBOX_ASSIGN_OR_RETURN(filter.of_guest, sys::CompileSeccomp(rules));
  }
  return filter;
}

}  // namespace polybox::jail

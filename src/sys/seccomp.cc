#include "sys/seccomp.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <seccomp.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

namespace polybox::sys {
namespace {

static_assert(std::endian::native == std::endian::little, "LowHalfOf() reads the first half");

/// The farthest that a conditional BPF jump can skip.
constexpr std::size_t kFarthestJump = 255;

/// The x32 calls of x86-64, a second set of system calls that guests do not need. System call
/// numbers of other architectures are smaller.
constexpr std::uint32_t kFirstX32 = 0x40000000;
constexpr std::uint32_t kBehindX32 = 0x80000000;

using RulesByNumber = std::map<int, const SeccompRule*>;

std::uint32_t KernelAction(const SeccompVerdict& verdict) {
  switch (verdict.action) {
    case SeccompAction::kAllow:
      return SECCOMP_RET_ALLOW;
    case SeccompAction::kKill:
      return SECCOMP_RET_KILL_PROCESS;
    case SeccompAction::kAsk:
      return SECCOMP_RET_USER_NOTIF;
    case SeccompAction::kErrno:
      break;
  }
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(verdict.error) & SECCOMP_RET_DATA);
}

/// Returns the number of the call, or nothing when only other architectures have the call.
Result<std::optional<int>> NumberOf(const SeccompRule& rule) {
  const int known = ::seccomp_syscall_resolve_name(rule.syscall.c_str());
  if (known == __NR_SCMP_ERROR) {
    if (rule.number) return rule.number;
    return Error(ErrorKind::kInvalid,
                 fmt::format("no system call is called \"{}\"; if this libseccomp is too old to "
                             "know it, give its number",
                             rule.syscall));
  }
  if (known < 0) return std::optional<int>();
  if (rule.number && *rule.number != known) {
    return Error(ErrorKind::kInvalid, fmt::format("system call {} has number {}, not {}",
                                                  rule.syscall, known, *rule.number));
  }
  return std::optional<int>(known);
}

Result<RulesByNumber> Number(const SeccompRules& rules) {
  RulesByNumber numbered;
  for (const SeccompRule& rule : rules.rules) {
    POLYBOX_ASSIGN_OR_RETURN(const std::optional<int> number, NumberOf(rule));
    if (!number) continue;
    const auto [at, added] = numbered.emplace(*number, &rule);
    if (added) continue;
    return Error(ErrorKind::kInvalid, fmt::format("system call {} has two rules: {} and {}",
                                                  *number, at->second->syscall, rule.syscall));
  }
  return numbered;
}

sock_filter Load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

sock_filter Return(const SeccompVerdict& verdict) {
  return BPF_STMT(BPF_RET | BPF_K, KernelAction(verdict));
}

/// A jump over the next `if_true` or `if_false` instructions.
sock_filter Jump(std::uint16_t test, std::uint32_t value, std::size_t if_true,
                 std::size_t if_false) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value,
                  static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false));
}

sock_filter LoadHighHalfOf(unsigned argument) {
  return Load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t) +
              sizeof(std::uint32_t));
}

sock_filter LoadLowHalfOf(unsigned argument) {
  return Load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

std::vector<SeccompCondition> ConditionsOf(const SeccompCase& one) {
  std::vector<SeccompCondition> all = {{one.argument, one.compare, one.values}};
  all.insert(all.end(), one.also.begin(), one.also.end());
  return all;
}

Status CheckCase(const SeccompRule& rule, const SeccompCase& one) {
  bool fits = true;
  std::size_t behind = 1;  // the instruction that returns the verdict
  std::vector<SeccompCondition> conditions = ConditionsOf(one);
  std::ranges::reverse(conditions);
  for (const SeccompCondition& condition : conditions) {
    const std::size_t count = condition.values.size();
    // A condition that does not hold jumps over all instructions behind it. The jump for the high
    // half of an argument also skips the code for the low half.
    const bool whole = condition.compare == SeccompCompare::kEqualsWhole;
    fits = fits && condition.argument < 6 && count > 0 && count <= kFarthestJump &&
           behind + (whole ? 1 + count : 0) <= kFarthestJump;
    behind += (whole ? 3 : 1) + count;
  }
  if (fits) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("rule of {}: a case compares one of 6 arguments with 1 to {} values",
                           rule.syscall, kFarthestJump));
}

/// Emits a test of the accumulator. If it is one of `values`, the program continues behind the
/// test; otherwise it skips `skipped` more instructions.
void AppendEquals(std::span<const std::uint32_t> values, std::size_t skipped,
                  std::vector<sock_filter>& out) {
  for (std::size_t left = values.size(); left > 0; --left) {
    const std::uint32_t value = values[values.size() - left];
    out.push_back(Jump(BPF_JEQ, value, left - 1, left == 1 ? skipped : 0));
  }
}

/// Returns the code of a condition. If the condition holds, the program continues behind this code;
/// otherwise it skips `skipped` more instructions.
std::vector<sock_filter> Test(const SeccompCondition& condition, std::size_t skipped) {
  const std::vector<std::uint32_t>& values = condition.values;
  const std::uint32_t bits = std::reduce(values.begin(), values.end(), 0U, std::bit_or<>());
  std::vector<sock_filter> code;
  if (condition.compare == SeccompCompare::kEqualsWhole) {
    code = {LoadHighHalfOf(condition.argument), Jump(BPF_JEQ, 0, 0, skipped + 1 + values.size())};
  }
  code.push_back(LoadLowHalfOf(condition.argument));
  switch (condition.compare) {
    case SeccompCompare::kEquals:
    case SeccompCompare::kEqualsWhole:
      AppendEquals(values, skipped, code);
      break;
    case SeccompCompare::kHasBit:
      code.push_back(Jump(BPF_JSET, bits, 0, skipped));
      break;
    case SeccompCompare::kHasNoBit:
      code.push_back(Jump(BPF_JSET, bits, skipped, 0));
      break;
  }
  return code;
}

void AppendCase(const SeccompCase& one, std::vector<sock_filter>& out) {
  std::vector<sock_filter> code = {Return(one.verdict)};
  std::vector<SeccompCondition> conditions = ConditionsOf(one);
  std::ranges::reverse(conditions);
  for (const SeccompCondition& condition : conditions) {
    const std::vector<sock_filter> test = Test(condition, code.size());
    code.insert(code.begin(), test.begin(), test.end());
  }
  out.insert(out.end(), code.begin(), code.end());
}

/// The calls from `first` to the start of the next range. All of them get the same verdict.
struct Range {
  std::uint32_t first = 0;
  std::vector<sock_filter> body;
};

/// Returns the code that decides one rule. The code ends with a return instruction on every path.
Result<std::vector<sock_filter>> Body(const SeccompRule& rule) {
  std::vector<sock_filter> body;
  for (const SeccompCase& one : rule.cases) {
    POLYBOX_RETURN_IF_ERROR(CheckCase(rule, one));
    AppendCase(one, body);
  }
  body.push_back(Return(rule.verdict));
  return body;
}

bool SameBody(const std::vector<sock_filter>& one, const std::vector<sock_filter>& other) {
  return std::ranges::equal(one, other, [](const sock_filter& a, const sock_filter& b) {
    return a.code == b.code && a.jt == b.jt && a.jf == b.jf && a.k == b.k;
  });
}

/// Returns ranges that cover every call number, in order. Neighbours with the same verdict are one
/// range: the kernel translates the program for every guest again. A shorter program is faster.
Result<std::vector<Range>> Ranges(const RulesByNumber& rules, const SeccompVerdict& otherwise) {
  std::vector<Range> ranges;
  const auto add = [&](std::uint32_t first, std::vector<sock_filter> body) {
    const bool replaces = !ranges.empty() && ranges.back().first == first;
    if (replaces) ranges.pop_back();
    if (!ranges.empty() && SameBody(ranges.back().body, body)) return;
    ranges.push_back({first, std::move(body)});
  };
  add(0, {Return(otherwise)});
  for (const auto& [number, rule] : rules) {
    POLYBOX_ASSIGN_OR_RETURN(std::vector<sock_filter> body, Body(*rule));
    add(static_cast<std::uint32_t>(number), std::move(body));
    add(static_cast<std::uint32_t>(number) + 1, {Return(otherwise)});
  }
  add(kFirstX32, {Return({SeccompAction::kKill, 0})});
  add(kBehindX32, {Return(otherwise)});
  return ranges;
}

/// Writes a program from its end to its beginning. BPF jumps only forward, so the target of each
/// jump is already written and its distance is known. Places are counted from the end, so they stay
/// valid as the program grows.
class Assembler {
 public:
  /// Emits a binary search for the verdict of the call number in the accumulator. Returns its
  /// place.
  std::size_t Search(std::span<const Range> ranges) {
    if (ranges.size() == 1) return Answer(ranges[0].body);
    const std::size_t half = ranges.size() / 2;
    const std::size_t above = Search(ranges.subspan(half));
    const std::size_t below = Search(ranges.first(half));
    // If the other branch needs a trampoline, the trampoline lies between this jump and its target.
    const std::size_t if_above = Within(kFarthestJump - 1, above);
    const std::size_t if_below = Within(kFarthestJump, below);
    return Emit(Jump(BPF_JGE, ranges[half].first, Distance(if_above), Distance(if_below)));
  }

  std::size_t Emit(const sock_filter& instruction) {
    backwards_.push_back(instruction);
    return backwards_.size() - 1;
  }

  std::vector<sock_filter> Finish() && {
    std::ranges::reverse(backwards_);
    return std::move(backwards_);
  }

 private:
  /// The number of instructions that a jump emitted now would skip to reach `place`.
  std::size_t Distance(std::size_t place) const { return backwards_.size() - place - 1; }

  /// Returns the place of a verdict. A verdict of one instruction is emitted once and shared by all
  /// jumps near enough. The kernel translates the program for every guest again, so a shorter
  /// program is faster.
  std::size_t Answer(const std::vector<sock_filter>& body) {
    if (body.size() > 1) return EmitAll(body);
    const auto known = answers_.find(body[0].k);
    if (known != answers_.end() && Distance(known->second) < kFarthestJump) return known->second;
    return answers_[body[0].k] = Emit(body[0]);
  }

  std::size_t EmitAll(const std::vector<sock_filter>& body) {
    std::size_t place = 0;
    for (std::size_t left = body.size(); left > 0; --left) place = Emit(body[left - 1]);
    return place;
  }

  /// Returns the position `place` if it is at most `most` instructions away. Otherwise emits an
  /// unconditional jump to it and returns the position of the jump.
  std::size_t Within(std::size_t most, std::size_t place) {
    if (Distance(place) <= most) return place;
    return Emit(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(Distance(place))));
  }

  std::vector<sock_filter> backwards_;
  std::map<std::uint32_t, std::size_t> answers_;
};

}  // namespace

SeccompParts Split(const SeccompRules& rules) {
  constexpr SeccompVerdict kAllow = {SeccompAction::kAllow, 0};
  SeccompParts parts = {rules, {kAllow, {}}};
  for (SeccompRule& rule : parts.first.rules) {
    if (!rule.closed_last) continue;
    parts.last.rules.push_back(rule);
    rule.verdict = kAllow;
    rule.cases.clear();
  }
  return parts;
}

Result<SeccompProgram> CompileSeccomp(const SeccompRules& rules) {
  constexpr std::string_view kIntent = "compile the seccomp filter";
  Result<RulesByNumber> numbered = Number(rules);
  if (!numbered.ok()) return std::move(numbered).error().In(kIntent);
  const Result<std::vector<Range>> ranges = Ranges(*numbered, rules.otherwise).In(kIntent);
  if (!ranges.ok()) return ranges.error();
  Assembler assembler;
  assembler.Search(*ranges);
  assembler.Emit(Load(offsetof(seccomp_data, nr)));
  assembler.Emit(Return({SeccompAction::kKill, 0}));
  assembler.Emit(Jump(BPF_JEQ, ::seccomp_arch_native(), 1, 0));
  assembler.Emit(Load(offsetof(seccomp_data, arch)));
  std::vector<sock_filter> program = std::move(assembler).Finish();
  if (program.size() > BPF_MAXINSNS) {
    return Error(ErrorKind::kInvalid, fmt::format("the seccomp filter has {} instructions, over {}",
                                                  program.size(), BPF_MAXINSNS));
  }
  return SeccompProgram(std::move(program));
}

}  // namespace polybox::sys

#include "sys/seccomp.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <seccomp.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

namespace polybox::sys {
namespace {

static_assert(std::endian::native == std::endian::little, "LowHalfOf() reads the first half");

/// A conditional jump of BPF skips no more than this.
constexpr std::size_t kFarthestJump = 255;

/// Of the second set of calls that x86-64 has, which guests have no business with. No number of any
/// other architecture is as large.
constexpr std::uint32_t kFirstX32 = 0x40000000;
constexpr std::uint32_t kBehindX32 = 0x80000000;

using RulesByNumber = std::map<int, const SeccompRule*>;

std::uint32_t KernelAction(const SeccompVerdict& verdict) {
  switch (verdict.action) {
    case SeccompAction::kAllow:
      return SECCOMP_RET_ALLOW;
    case SeccompAction::kKill:
      return SECCOMP_RET_KILL_PROCESS;
    case SeccompAction::kErrno:
      break;
  }
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(verdict.error) & SECCOMP_RET_DATA);
}

/// Nothing when only other architectures have the call.
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

/// Goes on behind the next `if_true` or `if_false` instructions.
sock_filter Jump(std::uint16_t test, std::uint32_t value, std::size_t if_true,
                 std::size_t if_false) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value,
                  static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false));
}

sock_filter LoadLowHalfOf(unsigned argument) {
  return Load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

Status CheckCase(const SeccompRule& rule, const SeccompCase& one) {
  if (one.argument < 6 && !one.values.empty() && one.values.size() <= kFarthestJump) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("rule of {}: a case compares one of 6 arguments with 1 to {} values",
                           rule.syscall, kFarthestJump));
}

void AppendCase(const SeccompCase& one, std::vector<sock_filter>& out) {
  const std::uint16_t test = one.compare == SeccompCompare::kEquals ? BPF_JEQ : BPF_JSET;
  out.push_back(LoadLowHalfOf(one.argument));
  for (std::size_t left = one.values.size(); left > 0; --left) {
    const std::uint32_t value = one.values[one.values.size() - left];
    out.push_back(Jump(test, value, left - 1, left == 1 ? 1 : 0));
  }
  out.push_back(Return(one.verdict));
}

/// Calls from `first` up to that of the next range, which all get the same answer.
struct Range {
  std::uint32_t first = 0;
  std::vector<sock_filter> body;
};

/// Ends with an answer, whatever it loads on the way.
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

/// Every number there can be, in order. Neighbours with the same answer are one range: the kernel
/// translates the program for every guest anew, so its length counts.
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

/// A program that is written from its end to its beginning, since BPF jumps only forward: whoever
/// jumps knows how far. Places are counted from the end, so they stay as the program grows.
class Assembler {
 public:
  /// Of the code that finds the answer for a number in the accumulator, by a binary search.
  std::size_t Search(std::span<const Range> ranges) {
    if (ranges.size() == 1) return Answer(ranges[0].body);
    const std::size_t half = ranges.size() / 2;
    const std::size_t above = Search(ranges.subspan(half));
    const std::size_t below = Search(ranges.first(half));
    // The other way's trampoline, if it needs one, comes in between.
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
  /// How many instructions one that is emitted now would skip to get to `place`.
  std::size_t Distance(std::size_t place) const { return backwards_.size() - place - 1; }

  /// A plain answer is there once for all that are near enough: the kernel translates the program
  /// for every guest anew, so its length counts.
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

  /// `place` if it is no further away than that, else one here from where it goes there.
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

int InstallSeccomp(const SeccompProgram& program) noexcept {
  const std::span<const sock_filter> instructions = program.instructions();
  const sock_fprog filter{static_cast<unsigned short>(instructions.size()),
                          const_cast<sock_filter*>(instructions.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

}  // namespace polybox::sys

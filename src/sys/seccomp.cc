#include "sys/seccomp.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <seccomp.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/files.h"
#include "base/unique_fd.h"

namespace polybox::sys {
namespace {

static_assert(std::endian::native == std::endian::little, "LowHalfOf() reads the first half");

/// A conditional jump of BPF skips no more than this.
constexpr std::size_t kFarthestJump = 255;

struct ContextRelease {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Context = std::unique_ptr<void, ContextRelease>;

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

Error LibraryError(std::string_view intent, int result) {
  return Error::FromErrno(intent, -result);
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

/// Expects the number of the call in the accumulator, and leaves it there for every other call.
Status AppendConditional(int number, const SeccompRule& rule, std::vector<sock_filter>& out) {
  std::vector<sock_filter> body;
  for (const SeccompCase& one : rule.cases) {
    POLYBOX_RETURN_IF_ERROR(CheckCase(rule, one));
    AppendCase(one, body);
  }
  body.push_back(Return(rule.verdict));
  if (body.size() > kFarthestJump) {
    return Error(ErrorKind::kInvalid, fmt::format("rule of {}: too many values", rule.syscall));
  }
  out.push_back(Jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, body.size()));
  out.insert(out.end(), body.begin(), body.end());
  return {};
}

/// The rules that look at arguments. libseccomp cannot say them: it compares low halves for
/// equality only, and a call that fits no case would get the filter's answer instead of the rule's.
/// Whatever is not decided here, other ABIs too, falls through to the end.
Result<std::vector<sock_filter>> CompileConditional(const RulesByNumber& rules) {
  std::vector<sock_filter> body;
  body.push_back(Load(offsetof(seccomp_data, nr)));
  for (const auto& [number, rule] : rules) {
    if (rule->cases.empty()) continue;
    POLYBOX_RETURN_IF_ERROR(AppendConditional(number, *rule, body));
  }
  std::vector<sock_filter> program;
  program.push_back(Load(offsetof(seccomp_data, arch)));
  program.push_back(Jump(BPF_JEQ, ::seccomp_arch_native(), 1, 0));
  program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(body.size())));
  program.insert(program.end(), body.begin(), body.end());
  return program;
}

Result<std::vector<sock_filter>> Export(const Context& context) {
  const UniqueFd file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("memfd_create");
  if (const int result = ::seccomp_export_bpf(context.get(), file.get()); result != 0) {
    return LibraryError("seccomp_export_bpf", result);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return Error::FromErrno("lseek");
  POLYBOX_ASSIGN_OR_RETURN(const std::string bytes, ReadAll(file.get(), Bytes::MiB(1)));
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), program.size() * sizeof(sock_filter));
  return program;
}

/// The rules that only look at the number, as a binary tree, and the answer for all other calls.
Result<std::vector<sock_filter>> CompilePlain(const RulesByNumber& rules,
                                              const SeccompVerdict& otherwise) {
  const Context context(::seccomp_init(KernelAction(otherwise)));
  if (context == nullptr) {
    return Error(ErrorKind::kUnavailable, "libseccomp does not know this kernel's actions");
  }
  constexpr std::uint32_t kBinaryTree = 2;
  int result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  if (result == 0) {
    result = ::seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  }
  if (result != 0) return LibraryError("seccomp_attr_set", result);
  for (const auto& [number, rule] : rules) {
    // libseccomp refuses a rule that repeats the answer for all other calls.
    if (!rule->cases.empty() || rule->verdict == otherwise) continue;
    result = ::seccomp_rule_add(context.get(), KernelAction(rule->verdict), number, 0);
    if (result != 0) return LibraryError("add the rule of " + rule->syscall, result);
  }
  return Export(context);
}

}  // namespace

Result<SeccompProgram> CompileSeccomp(const SeccompRules& rules) {
  constexpr std::string_view kIntent = "compile the seccomp filter";
  Result<RulesByNumber> numbered = Number(rules);
  if (!numbered.ok()) return std::move(numbered).error().In(kIntent);
  Result<std::vector<sock_filter>> program = CompileConditional(*numbered);
  if (!program.ok()) return std::move(program).error().In(kIntent);
  const Result<std::vector<sock_filter>> plain =
      CompilePlain(*numbered, rules.otherwise).In(kIntent);
  if (!plain.ok()) return plain.error();
  program->insert(program->end(), plain->begin(), plain->end());
  if (program->size() > BPF_MAXINSNS) {
    return Error(ErrorKind::kInvalid, fmt::format("the seccomp filter has {} instructions, over {}",
                                                  program->size(), BPF_MAXINSNS));
  }
  return SeccompProgram(std::move(program).value());
}

int InstallSeccomp(const SeccompProgram& program) noexcept {
  const std::span<const sock_filter> instructions = program.instructions();
  const sock_fprog filter{static_cast<unsigned short>(instructions.size()),
                          const_cast<sock_filter*>(instructions.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

}  // namespace polybox::sys

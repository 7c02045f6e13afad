#include "shells/violations.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/printable.h"

namespace polybox::shells {
namespace {

using machine::Violation;
using Kind = Violation::Kind;
using Source = Violation::Source;

constexpr std::size_t kShownSubject = 200;
/// More hosts or paths than this say nothing new.
constexpr std::size_t kMostRecognised = 8;

constexpr const char* kEgressFix =
    "If the command needs this host, the person who starts polybox can add it to "
    "--workspace-egress";
constexpr const char* kMemoryFix = "Use less memory, for example fewer jobs at once";
constexpr const char* kProcessesFix = "Start fewer processes at once, or end some with KillShell";
constexpr const char* kDiskFix = "Remove files that are no longer needed";

/// The words of a program about something that it lacked. The first group of the pattern, if there
/// is one, is the subject.
struct Words {
  const char* pattern;
  Kind kind;
  const char* what;
  const char* fix;
};

// Each from the messages of real programs; the comment names them.
constexpr Words kWords[] = {
    // curl, git
    {R"(Could not resolve (?:host|proxy): ([^\s;,]+))", Kind::kConnection,
     "the network of the jail does not have this host", kEgressFix},
    // Node
    {R"(getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([^\s;,]+))", Kind::kConnection,
     "the network of the jail does not have this host", kEgressFix},
    // Go
    {R"(dial tcp: lookup ([^\s:]+)[^\n]*(?:no such host|refused|misbehaving|unreachable))",
     Kind::kConnection, "the network of the jail does not have this host", kEgressFix},
    // pip, uv, Python
    {R"(Failed to (?:resolve|establish a new connection)[^\n']*'([^']+)')", Kind::kConnection,
     "the network of the jail does not have this host", kEgressFix},
    // wget
    {R"(unable to resolve host address [‘'"]?([^\s’'"]+))", Kind::kConnection,
     "the network of the jail does not have this host", kEgressFix},
    {"Temporary failure in name resolution", Kind::kConnection,
     "the network of the jail has no such host", kEgressFix},
    // Any program, by the C library or by the name of the error
    {R"(Network is unreachable|ENETUNREACH)", Kind::kConnection,
     "the network of the jail reaches only hosts that are allowed", kEgressFix},
    // A proxy of the jail that refuses: curl, git, npm
    {R"(CONNECT tunnel failed, response 403|Proxy (?:CONNECT aborted|response \(403\)))",
     Kind::kConnection, "the egress proxy refused the host", kEgressFix},
    {R"(([^\s:'"]+)[:'"]+ Read-only file system|EROFS: read-only file system[^\n']*'([^']+)')",
     Kind::kWrite, "this path is read-only in the jail",
     "Write in the workspace, in HOME or in /tmp"},
    {"No space left on device|ENOSPC", Kind::kDisk, "there is no more space on the disk", kDiskFix},
    {R"(fork: (?:retry: )?Resource temporarily unavailable|can't start new thread|)"
     R"(pthread_create failed|unable to create native thread|spawn \S+ EAGAIN)",
     Kind::kProcesses, "the workspace has as many processes as it may", kProcessesFix},
    {R"(Cannot allocate memory|std::bad_alloc|\bMemoryError\b|heap out of memory|)"
     R"(OutOfMemoryError|ENOMEM)",
     Kind::kMemory, "a program got no more memory", kMemoryFix},
    {"Bad system call", Kind::kSystemCall, "the jail does not allow a system call",
     "The system calls of the jail are fixed; use a program that does without"},
};

Violation Observed(Kind kind, std::string what, std::string fix) {
  return {.kind = kind,
          .source = Source::kObserved,
          .subject = "",
          .what = std::move(what),
          .fix = std::move(fix)};
}

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kConnection:
      return "connection";
    case Kind::kWrite:
      return "write";
    case Kind::kSystemCall:
      return "system_call";
    case Kind::kMemory:
      return "memory";
    case Kind::kProcesses:
      return "processes";
    case Kind::kTime:
      return "time";
    case Kind::kDisk:
      return "disk";
  }
  return "";
}

std::vector<Violation> ObservedIn(const jail::Outcome& outcome) {
  std::vector<Violation> all;
  if (outcome.end == jail::End::kOutOfMemory || outcome.oom_kills > 0) {
    all.push_back(Observed(Kind::kMemory, "a process was killed for want of memory", kMemoryFix));
  }
  if (outcome.end == jail::End::kProcessLimit) {
    all.push_back(
        Observed(Kind::kProcesses, "the command had more processes than it may", kProcessesFix));
  }
  if (outcome.end == jail::End::kTimedOut) {
    all.push_back(Observed(Kind::kTime, "the command was ended at its timeout",
                           "Raise timeout (600 s at most), or use run_in_background"));
  }
  if (outcome.end == jail::End::kCpuLimit) {
    all.push_back(Observed(Kind::kTime, "the command used up its processor time", ""));
  }
  if (outcome.end == jail::End::kDiskLimit) {
    all.push_back(Observed(Kind::kDisk, "a directory of the jail reached its limit", kDiskFix));
  }
  if (outcome.signal == SIGSYS) {
    all.push_back(Observed(Kind::kSystemCall, "the system call filter ended the command",
                           "The system calls of the jail are fixed; use a program that does "
                           "without"));
  }
  return all;
}

std::vector<Violation> RecognisedIn(std::string_view output) {
  struct Compiled {
    const Words* words;
    re2::RE2 regex;
  };
  static const auto* compiled = [] {
    auto* all = new std::vector<std::unique_ptr<Compiled>>;  // NOLINT: lives as long as polybox
    for (const Words& each : kWords) {
      all->push_back(std::unique_ptr<Compiled>(new Compiled{&each, re2::RE2(each.pattern)}));
    }
    return all;
  }();
  std::vector<Violation> all;
  for (const auto& each : *compiled) {
    re2::StringPiece rest(output.data(), output.size());
    re2::StringPiece groups[3];
    while (all.size() < kMostRecognised &&
           each->regex.Match(rest, 0, rest.size(), re2::RE2::UNANCHORED, groups,
                             1 + each->regex.NumberOfCapturingGroups())) {
      const re2::StringPiece& subject = groups[1].empty() ? groups[2] : groups[1];
      AddNew(all, {{.kind = each->words->kind,
                    .source = Source::kRecognised,
                    .subject = Printable({subject.data(), subject.size()}, kShownSubject),
                    .what = each->words->what,
                    .fix = each->words->fix}});
      rest.remove_prefix(static_cast<std::size_t>(groups[0].end() - rest.begin()));
      groups[1] = groups[2] = {};
    }
  }
  return all;
}

void AddNew(std::vector<Violation>& all, std::vector<Violation> more) {
  for (Violation& each : more) {
    const bool known = std::ranges::any_of(all, [&](const Violation& other) {
      if (other.kind != each.kind) return false;
      return other.source == Source::kObserved ? each.source == Source::kRecognised || other == each
                                               : other.subject == each.subject;
    });
    if (!known) all.push_back(std::move(each));
  }
}

}  // namespace polybox::shells

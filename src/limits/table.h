// The declaration of each limit of a step: one row of kLimits. From the row follow the key in
// language files with its checks, and the rows in languages/README.md and docs/languages.md. GET
// /languages with its API description, the member of POST /execute and the flag of `polybox run`
// follow too. So do the plain resource limits and the key of the compile cache. Constant data; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/resource.h>

#include "limits/limits.h"

namespace polybox::limits {

/// Where the value of a limit is. T is Duration, Bytes, or std::int64_t for a count.
template <typename T>
struct Member {
  T StepLimits::* value = nullptr;
  /// Null if requests cannot change the limit.
  std::optional<T> Overrides::* change = nullptr;
};

/// The kind of a limit's value. The order is that of the alternatives of Limit::member.
enum class Unit { kTime, kSize, kCount };

/// Whether a language file may set the limit to 0. A program cannot run with 0 of most things.
enum class Zero { kRefused, kAllowed };

/// Whether defaults.toml has the limit, or each language file must give it, because the value
/// depends on how the language's runtime works.
enum class Given { kByDefaults, kByEachLanguage };

/// What enforces a limit. `ResourceLimits.EachLimitIsEnforcedByWhatItsRowNames` (src/jail) compares
/// the first five with the functions named here.
struct EnforcedBy {
  bool watch = false;       ///< The server's watch of the run: jail::WatchLimitsOf().
  bool cgroup = false;      ///< The slot's cgroup: jail::GroupLimits().
  bool tree_watch = false;  ///< The watch of the process tree without cgroups: GroupTreeLimits().
  bool rlimit = false;      ///< The kernel, for each process: jail::ResourceLimits().
  bool scratch = false;     ///< The size of the scratch directories: jail::ScratchSize().
  bool reader = false;      ///< The reader of the guest's output: launch/streams.h, exec/capture.h.

  bool operator==(const EnforcedBy&) const = default;
};

/// The name of a limit in a list for users, and its position there, from 1. A list does not have
/// the limits whose position is 0.
struct Shown {
  std::string_view name = {};
  std::size_t position = 0;
};

/// A flag of `polybox run`, with its line of help. "" for none.
struct Flag {
  std::string_view name = {};
  std::string_view doc = {};
};

/// No resource limit has this number.
inline constexpr int kNoRlimit = -1;

/// The declaration of one limit.
struct Limit {
  /// The key in `[run.limits]`, `[compile.limits]` and the like.
  std::string_view key;
  std::variant<Member<Duration>, Member<Bytes>, Member<std::int64_t>> member;
  /// What the limit bounds: its row in languages/README.md.
  std::string_view bounds;
  EnforcedBy by = {};
  Zero zero = Zero::kRefused;
  Given given = Given::kByDefaults;
  /// The resource limit that has exactly this value. Resource limits that are computed from a limit
  /// are in jail/resource_limits.cc.
  int rlimit = kNoRlimit;
  /// Why a compiler's result does not depend on the limit. "" makes the limit a part of the key of
  /// the compile cache.
  std::string_view not_in_compile_key = {};
  /// In GET /languages, where all limits are. A request changes the limit under the same name.
  Shown listed = {};
  /// The column in docs/languages.md.
  Shown column = {};
  Flag flag = {};

  constexpr Unit unit() const { return static_cast<Unit>(member.index()); }
  constexpr bool Changes() const {
    return std::visit([](const auto& m) { return m.change != nullptr; }, member);
  }
};

/// In the order of the members of StepLimits. POST /execute and `polybox run` name limits in this
/// order, and the key of the compile cache contains them so. A row that moves changes every key.
inline constexpr auto kLimits = std::to_array<Limit>({
    {.key = "wall_time",
     .member = Member<Duration>{&StepLimits::wall_time, &Overrides::wall_time},
     .bounds = "elapsed time",
     .by = {.watch = true},
     .not_in_compile_key = "compile/compile_step.cc compares the times when a result is used",
     .listed = {"wall_time_ms", 1},
     .column = {"wall time", 1},
     .flag = {"--timeout", "How long it may run, such as 500ms; a bare number counts seconds"}},
    {.key = "cpu_time",
     .member = Member<Duration>{&StepLimits::cpu_time, &Overrides::cpu_time},
     .bounds = "processor time",
     .by = {.watch = true, .tree_watch = true, .rlimit = true},
     .not_in_compile_key = "compile/compile_step.cc compares the times when a result is used",
     .listed = {"cpu_time_ms", 2}},
    {.key = "memory",
     .member = Member<Bytes>{&StepLimits::memory, &Overrides::memory},
     .bounds = "physical memory of all processes together, scratch files included",
     .by = {.cgroup = true, .tree_watch = true, .rlimit = true},
     .listed = {"memory_bytes", 4},
     .column = {"memory", 2},
     .flag = {"--memory", "How much memory it may use, such as 256M; a bare number counts bytes"}},
    {.key = "swap",
     .member = Member<Bytes>{&StepLimits::swap},
     .bounds = "swap",
     .by = {.cgroup = true},
     .zero = Zero::kAllowed,
     .listed = {"swap_bytes", 5}},
    {.key = "address_space",
     .member = Member<Bytes>{&StepLimits::address_space},
     .bounds = "what one process may map",
     .by = {.rlimit = true},
     .given = Given::kByEachLanguage,
     .rlimit = RLIMIT_AS,
     .listed = {"address_space_bytes", 6},
     .column = {"address space", 3}},
    {.key = "file_size",
     .member = Member<Bytes>{&StepLimits::file_size},
     .bounds = "one file",
     .by = {.rlimit = true},
     .rlimit = RLIMIT_FSIZE,
     .listed = {"file_size_bytes", 9},
     .column = {"file size", 6}},
    {.key = "open_files",
     .member = Member<std::int64_t>{&StepLimits::open_files},
     .bounds = "descriptors per process",
     .by = {.rlimit = true},
     .given = Given::kByEachLanguage,
     .rlimit = RLIMIT_NOFILE,
     .listed = {"open_files", 12},
     .column = {"open files", 5}},
    {.key = "processes",
     .member = Member<std::int64_t>{&StepLimits::processes, &Overrides::processes},
     .bounds = "processes and threads together",
     .by = {.cgroup = true, .tree_watch = true, .rlimit = true},
     .given = Given::kByEachLanguage,
     .listed = {"processes", 13},
     .column = {"processes", 4}},
    {.key = "stack",
     .member = Member<Bytes>{&StepLimits::stack},
     .bounds = "stack of a main thread",
     .by = {.rlimit = true},
     .rlimit = RLIMIT_STACK,
     .listed = {"stack_bytes", 7}},
    {.key = "cpu_per_second",
     .member = Member<Duration>{&StepLimits::cpu_per_second},
     .bounds = "processor time within each second",
     .by = {.watch = true, .cgroup = true},
     .not_in_compile_key = "a compiler on a slower processor makes the same result",
     .listed = {"cpu_ms_per_second", 3},
     .column = {"CPU per second", 8}},
    {.key = "disk",
     .member = Member<Bytes>{&StepLimits::disk, &Overrides::disk},
     .bounds = "all files of the working directory, and again of /tmp",
     .by = {.scratch = true},
     .listed = {"disk_bytes", 8},
     .column = {"disk", 7}},
    {.key = "inodes",
     .member = Member<std::int64_t>{&StepLimits::inodes},
     .bounds = "how many files the working directory has, and again /tmp",
     .by = {.scratch = true},
     .listed = {"inodes", 11}},
    {.key = "output",
     .member = Member<Bytes>{&StepLimits::output, &Overrides::output},
     .bounds = "standard output and error together",
     .by = {.reader = true},
     .not_in_compile_key = "compile/compile_step.cc compares the size of the output, too",
     .listed = {"output_bytes", 10},
     .flag = {"--output-limit", "How much it may print, such as 8M; a bare number counts bytes"}},
});

/// Returns the limits that a list has, in its order: InOrderOf(&Limit::listed).
std::vector<const Limit*> InOrderOf(Shown Limit::* list);

/// Returns the value as a whole number of milliseconds, of bytes, or of the things counted.
std::int64_t NumberOf(const Limit& limit, const StepLimits& limits);
/// Lets the request have at most such a number. A lower one that is there stays. Only for limits
/// that a request may change.
void Lower(const Limit& limit, std::int64_t number, Overrides& overrides);
/// Returns the value with its unit, as language files have it: "30s", "64MiB", "32".
std::string FormatValue(const Limit& limit, const StepLimits& limits);

/// Calls `visit` with the value as a Duration, Bytes, or std::int64_t. `Limits` is StepLimits, or
/// constant StepLimits.
template <typename Limits, typename Visit>
void VisitValue(const Limit& limit, Limits& limits, const Visit& visit) {
  std::visit([&](const auto& member) { visit(limits.*member.value); }, limit.member);
}

}  // namespace polybox::limits

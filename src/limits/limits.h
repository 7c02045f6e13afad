// The limits of a program as plain values. limits/table.h has one row for each member: how a limit
// is written, shown, enforced and changed. The structs have nothing but limits as members, and each
// member has 64 bits; table.h checks that no member lacks a row.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/units.h"

namespace polybox::limits {

/// The limits that the jail of a run enforces. The initial values are those of `[run.limits]` in
/// languages/defaults.toml, which has their reasons.
struct RunLimits {
  Duration wall_time = std::chrono::seconds(30);
  Duration cpu_time = std::chrono::seconds(30);
  Bytes memory = Bytes::MiB(256);
  Bytes swap;
  Bytes address_space = Bytes::MiB(1024);
  Bytes file_size = Bytes::MiB(64);
  std::int64_t open_files = 64;
  std::int64_t processes = 32;
  Bytes stack = Bytes::MiB(8);
  /// CPU time that the guest may use per second of wall time.
  Duration cpu_per_second = std::chrono::milliseconds(900);
  /// Of the working directory and of /tmp, each.
  Bytes disk = Bytes::MiB(64);
  std::int64_t inodes = 4096;

  bool operator==(const RunLimits&) const = default;
};

/// The limits of a step of a language file: those of its run, and the limit that the reader of the
/// guest's output enforces. A jail gets the first part by assignment: `run.limits = step.limits`.
struct StepLimits : RunLimits {
  Bytes output = Bytes::MiB(1);

  bool operator==(const StepLimits&) const = default;
};

/// The limits of a step that a request may change. An absent value leaves the limit as it is.
struct Overrides {
  std::optional<Duration> wall_time;
  std::optional<Duration> cpu_time;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> processes;
  std::optional<Bytes> disk;
  std::optional<Bytes> output;
};

/// Sets the memory limit. When the limit grows, the address space grows by as much: the additional
/// memory would be of no use if it could not be mapped.
void SetMemory(RunLimits& limits, Bytes memory);

/// Changes the limits of a step as a request asks.
void Apply(const Overrides& overrides, StepLimits& limits);

}  // namespace polybox::limits

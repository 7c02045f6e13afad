// Finds out whether anything has changed in a scratch directory. Used by the slot init on its one
// thread.
#pragma once

#include <cstddef>
#include <ctime>
#include <string>

#include <sys/types.h>

namespace polybox::jail::init {

/// The state by which a scratch directory is recognised as unchanged. `number` is the inode number
/// that the next new inode was to get; 0 means that the directory counts as changed.
struct Trace {
  timespec changed{};
  ino_t number = 0;
};

/// Finds out whether every change of a directory shows in its change time. Call it once, with a
/// directory that no guest has seen.
void LearnWhetherEveryChangeShows(const std::string& path);
bool EveryChangeShows();
Trace LookAt(const std::string& path);
/// Returns the trace of a directory in which the slot init itself made exactly `made` inodes since
/// `before`. If other inodes were made too, the directory will not be recognised.
Trace LookAfter(const std::string& path, const Trace& before, std::size_t made);
/// Clears a trace that is so recent that a later change may not show in the time. Call it before a
/// guest starts.
void Distrust(Trace& trace);
/// Returns whether nothing has changed in the directory since `trace`. Updates `trace` to the
/// present state, or clears it if something has changed.
bool IsAsItWas(const std::string& path, Trace& trace);

}  // namespace polybox::jail::init

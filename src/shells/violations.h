// Finds out what a command lacked: from how it ended, and from the words of programs in its output.
// Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jail/outcome.h"
#include "machine/machine.h"

namespace polybox::shells {

/// Returns what the jail itself says about the end.
std::vector<machine::Violation> ObservedIn(const jail::Outcome& outcome);

/// Returns what the output looks like, one entry for each kind and subject.
std::vector<machine::Violation> RecognisedIn(std::string_view output);

/// Adds the entries whose kind and subject are not in `all` yet. An observation makes every
/// recognition of its kind superfluous.
void AddNew(std::vector<machine::Violation>& all, std::vector<machine::Violation> more);

/// "connection", "write", "system_call", "memory", "processes", "time" or "disk".
std::string_view KindName(machine::Violation::Kind kind);

}  // namespace polybox::shells

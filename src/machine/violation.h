// What the jail of a workspace refused, took back, or could not give. Plain data.
#pragma once

#include <string>

namespace polybox::machine {

/// Something that the jail refused, took back, or could not give.
struct Violation {
  enum class Kind { kConnection, kWrite, kSystemCall, kMemory, kProcesses, kTime, kDisk };
  /// Whether the jail saw it, or the text of the program's output looks like it.
  enum class Source { kObserved, kRecognised };

  Kind kind = Kind::kWrite;
  Source source = Source::kObserved;
  /// The host, path or call that it is about.
  std::string subject;
  /// One sentence: what was refused, and by which rule.
  std::string what;
  /// The setting or action that changes it; "" if there is none.
  std::string fix;

  bool operator==(const Violation&) const = default;
};

}  // namespace polybox::machine

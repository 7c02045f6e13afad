// Makes the line that a step's error output ends with when the step lacked memory. The number of
// processes that the kernel killed is a fact. Texts of a runtime are only quoted, because a program
// can print them as well. Used by session.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "exec/request.h"
#include "jail/outcome.h"

namespace polybox::exec {

/// The memory limits of a step and how messages name them.
struct MemoryTerms {
  StepKind step = StepKind::kRun;
  Bytes memory;
  Bytes address_space;
  /// Texts that the step's runtime prints when it gets no memory: Step::out_of_memory of the
  /// language file.
  std::vector<std::string> words = {};
  /// The request member or setting that raises the limit, such as "--memory".
  std::string raised_by = {};
};

/// Returns one line with its line end, or "" when nothing indicates a lack of memory. `err` is the
/// end of the step's error output.
std::string MemoryNote(const jail::Outcome& outcome, std::string_view err,
                       const MemoryTerms& terms);

/// Keeps the end of a step's error output, in which MemoryNote() looks for the texts.
class ErrorEnd {
 public:
  /// Adds the next part of the error output.
  void Add(std::string_view text);
  /// Returns the note as it must follow the output: on a line of its own. "" when there is none.
  std::string Note(const jail::Outcome& outcome, const MemoryTerms& terms) const;

 private:
  std::string text_;
};

}  // namespace polybox::exec

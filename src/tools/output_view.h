// Shows stored output within a budget: its beginning and its end, the count of what lies between,
// and never bytes that no reader can use. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shells/shell.h"

namespace polybox::tools {

struct OutputView {
  std::string text;
  /// The bytes of the output that the view does not show.
  std::uint64_t left_out = 0;
  /// The bytes of the output up to the end of the view: where the next view begins.
  std::uint64_t end = 0;
};

/// Returns the output from the offset `from` on, in at most about `characters` characters.
OutputView ViewOf(const shells::OutputLog& log, std::uint64_t from, std::size_t characters);

/// Returns bytes as text: without the control sequences of terminals, a NUL as "\0". Of binary data
/// only the size is shown.
std::string ReadableText(std::string_view bytes);

/// Returns the beginning and the end of a longer text, with the count of what lies between: about
/// `characters` characters.
std::string Shortened(std::string_view text, std::size_t characters);

/// Returns the last line that is not empty, for a report of progress.
std::string LastLine(const shells::OutputLog& log);

}  // namespace polybox::tools

#include "mcp/line_reader.h"

#include <vector>

#include <gtest/gtest.h>

namespace polybox::mcp {
namespace {

/// Returns the lines of `text`, "!" for one that is too long, when it comes in pieces of `piece`
/// bytes.
std::vector<std::string> LinesOf(std::string_view text, std::size_t piece) {
  LineReader reader(Bytes(5));
  std::vector<std::string> lines;
  const auto take = [&] {
    while (const auto line = reader.Next()) {
      lines.emplace_back(line->too_long ? "!" : std::string(line->text));
    }
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.Add(text.substr(at, piece));
    take();
  }
  reader.End();
  take();
  return lines;
}

TEST(LineReader, FindsTheSameLinesWhateverThePieces) {
  using Lines = std::vector<std::string>;
  const std::vector<std::pair<std::string, Lines>> rows = {
      {"", {}},
      {"a\nbc\n", {"a", "bc"}},
      {"a\nbc", {"a", "bc"}},
      {"\n\r\n  \na\r\n", {"a\r"}},
      {"12345\n123456\n12345", {"12345", "!", "12345"}},
      {"a\n123456789012345678901234567890", {"a", "!"}},
      {"123456789\nab\n", {"!", "ab"}},
      {std::string("a\0b\n", 4), {std::string("a\0b", 3)}},
  };
  for (const auto& [text, lines] : rows) {
    for (std::size_t piece = 1; piece <= text.size() + 1; ++piece) {
      EXPECT_EQ(LinesOf(text, piece), lines) << text << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace polybox::mcp

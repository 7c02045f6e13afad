// The lines of TAP and of prove, and the diagnostics of a failed test. Used by tap.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace polybox::verify {

/// "not ok 3 - name # TODO reason".
struct TapTest {
  bool ok = false;
  std::int64_t number = 0;
  std::string_view name = {};
  bool is_skipped = false;
  bool is_todo = false;
};

struct TapLine {
  enum class Kind { kTest, kPlan, kBailOut, kProveFile, kProveResult, kNote };

  Kind kind = Kind::kNote;
  std::size_t indent = 0;
  /// The line without indentation; for kProveFile the file.
  std::string_view text = {};
  std::string_view whole = {};
  TapTest test = {};
  std::int64_t plan = 0;
};

TapLine ReadTapLine(std::string_view line);

/// What follows a failed test: comments ("# ..."), a block of YAML, or plain indented text.
struct TapDiagnostics {
  std::string text = {};
  std::string error = {};
  std::string expected = {};
  std::string actual = {};
  /// "file:line:column".
  std::string place = {};
  /// Whether the test threw something other than a failed assertion.
  bool is_error = false;

  void Take(std::string_view line);

 private:
  /// The key of the block scalar ("error: |-") whose lines are being read; null outside of one.
  std::string* block_ = nullptr;
  std::size_t block_indent_ = 0;
};

/// Returns the file and the line of "file:line:column"; "" and 0 for another text.
std::pair<std::string_view, std::int64_t> SplitPlace(std::string_view place);

/// Returns the name as it was before it was escaped for TAP: "a # b" for "a \\# b".
std::string Unescaped(std::string_view name);

/// Returns what Test::More wrote about the failed test: the comments from "Failed test 'name'" on.
std::string FindTestMoreText(std::string_view err, std::string_view name);

}  // namespace polybox::verify

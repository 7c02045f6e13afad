#include "verify/failure_text.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "verify/text.h"

namespace polybox::verify {
namespace {

/// The searched part of a text: the places and values that matter are near its beginning.
constexpr std::size_t kSearched = 65'536;

re2::StringPiece Piece(std::string_view text) {
  return {text.data(), std::min(text.size(), kSearched)};
}

std::string_view View(const re2::StringPiece& piece) {
  return {piece.data(), piece.size()};
}

/// How tools write the two values. Each has the groups `e` (expected) and `a` (actual).
constexpr auto kComparisons = std::to_array<const char*>({
    // testify
    R"(expected\s*: (?P<e>[^\n]+)\n\s*actual\s*: (?P<a>[^\n]+))",
    // JUnit
    R"((?i)expected:? ?<(?P<e>.*)> but was:? ?<(?P<a>.*)>)",
    // jest, vitest, minitest
    R"(Expected: +(?P<e>[^\n]+)\n\s*(?:Received|Actual): +(?P<a>[^\n]+))",
    // Rust's assert_eq, which has no order of its own
    R"(left: (?P<a>[^\n]+)\n\s*right: (?P<e>[^\n]+))",
    // RSpec
    R"(expected: (?P<e>[^\n]+)\n\s*got: (?P<a>[^\n]+))",
    // Go: two lines, an example, one line
    R"((?m)^\s*got: ?(?P<a>[^\n]*)\n\s*want: ?(?P<e>[^\n]+))",
    R"((?m)^got:\n(?P<a>(?:[^\n]*\n)*?)want:\n(?P<e>(?s:.+)))",
    R"(got:? (?P<a>[^\n]+?)[,;] want(?:ed)?:? (?P<e>[^\n]+))",
    R"(= (?P<a>[^\n]+?)[,;] want(?:ed)?:? (?P<e>[^\n]+))",
    // PHPUnit
    R"(asserting that (?P<a>[^\n]+?) (?:matches expected|is identical to) (?P<e>[^\n]+)\.)",
    R"(--- Expected\n\+\+\+ Actual\n@@ @@\n(?:-(?P<e>[^\n]+))\n(?:\+(?P<a>[^\n]+)))",
    // Test::More
    R"(got: (?P<a>[^\n]+)\n(?:#\s+)?\s*expected: (?P<e>[^\n]+))",
    // busted
    R"(Passed in:\n(?P<a>(?s:.+?))\nExpected:\n(?P<e>(?s:.+?))(?:\nstack traceback:|\z))",
    // pytest, which has no order of its own
    R"(assert (?P<a>[^\n]+?) == (?P<e>[^\n]+))",
    // node:assert, unittest
    R"((?m)^(?:[\w.]*(?:Error|Exception)[^:\n]*: )?(?P<a>[^\n]+?) !==? (?P<e>[^\n]+?)(?: : [^\n]*)?$)",
    // chai
    R"(expected (?P<a>[^\n]+?) to (?:strictly |deeply )?(?:equal|be) (?P<e>[^\n]+?)(?: //[^\n]*)?(?:\n|\z))",
});

const std::vector<std::unique_ptr<RE2>>& Comparisons() {
  static const std::vector<std::unique_ptr<RE2>> patterns = [] {
    std::vector<std::unique_ptr<RE2>> compiled;
    for (const char* pattern : kComparisons) {
      compiled.push_back(std::make_unique<RE2>(pattern, RE2::Quiet));
    }
    return compiled;
  }();
  return patterns;
}

/// Returns whether a file of a stack trace belongs to the project and not to a library.
bool IsOfProject(std::string_view file) {
  constexpr auto kLibraries =
      std::to_array<std::string_view>({"node_modules/", "site-packages/", "/dist-packages/",
                                       "vendor/", "node:", "<frozen", "_testmain.go"});
  if (file.starts_with('/')) return false;
  return std::ranges::none_of(kLibraries, [&](std::string_view library) {
    return file.find(library) != std::string_view::npos;
  });
}

bool HasBaseName(std::string_view path, std::string_view file) {
  const std::string_view base = file.substr(file.rfind('/') + 1);
  return path == base || (path.size() > base.size() && path.ends_with(base) &&
                          path[path.size() - base.size() - 1] == '/');
}

}  // namespace

Location FindLocation(std::string_view text, std::string_view root, std::string_view file) {
  // `File "x.py", line 3` of Python, `at x.t line 3` of Perl, `x.py:3` of all others. A name begins
  // after a space, a quote or a bracket, and has a suffix.
  static const RE2 place(
      R"re(File "([^"\n]+)", line (\d+)|(?:at|file) ([^\s,"]+\.\w+),? line (\d+)|(?:^|[\s("'`\[@])((?:file://)?[^\s("'`\[\]@:][^\s:"'()\[\]]*\.[A-Za-z]\w*):(\d+))re",
      RE2::Quiet);
  re2::StringPiece rest = Piece(text);
  std::array<std::string, 3> files;
  std::array<std::string, 3> lines;
  while (RE2::FindAndConsume(&rest, place, &files[0], &lines[0], &files[1], &lines[1], &files[2],
                             &lines[2])) {
    const std::string found = RelativePath(files[0] + files[1] + files[2], root);
    const std::int64_t line = NumberOr0(lines[0] + lines[1] + lines[2]);
    if (line == 0) continue;
    if (file.empty() ? IsOfProject(found) : HasBaseName(found, file)) {
      return {file.empty() ? found : std::string(file), line};
    }
  }
  return {};
}

Comparison FindComparison(std::string_view text) {
  for (const auto& pattern : Comparisons()) {
    std::vector<re2::StringPiece> groups(
        static_cast<std::size_t>(pattern->NumberOfCapturingGroups()) + 1);
    const re2::StringPiece piece = Piece(text);
    if (!pattern->Match(piece, 0, piece.size(), RE2::UNANCHORED, groups.data(),
                        static_cast<int>(groups.size()))) {
      continue;
    }
    const auto& names = pattern->NamedCapturingGroups();
    const auto group = [&](const char* name) {
      return Kept(View(groups[static_cast<std::size_t>(names.at(name))]), kLongestMessage);
    };
    return {group("e"), group("a")};
  }
  return {};
}

}  // namespace polybox::verify

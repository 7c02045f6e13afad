#include "jail/testing/reuse_differences.h"

#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace polybox::jail {
namespace {

/// Returns the section of SECURITY.md under this heading.
std::string Section(const std::string& heading) {
  const std::string text = ReadFile(POLYBOX_SOURCE_DIR "/SECURITY.md").value_or("");
  const std::size_t begin = text.find("\n" + heading + "\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find("\n## ", begin) - begin);
}

TEST(ReuseDifferences, FiguresOfTheWholeMachineAreListedInTheDocumentation) {
  const std::string section =
      Section("### What guests that run at the same time can tell each other");
  int listed = 0;
  for (const Difference& difference : kDifferences) {
    const bool is_figure = difference.reason.find("machine") != std::string_view::npos;
    EXPECT_TRUE(!is_figure || !difference.listed.empty()) << difference.key;
    EXPECT_NE(section.find(difference.listed), std::string::npos) << difference.key;
    listed += difference.listed.empty() ? 0 : 1;
  }
  EXPECT_GT(listed, 10);
}

}  // namespace
}  // namespace polybox::jail

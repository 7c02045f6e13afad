#include "packages/requirements_file.h"

#include <gtest/gtest.h>

namespace polybox::packages {
namespace {

using Lines = std::vector<std::string>;

TEST(RequirementsFile, CommentsAndEmptyLinesAreLeftOut) {
  const auto read = ParseRequirements(
      "# all of them\n\nrequests==2.32.0\r\n  six >= 1 # old\n\npkg @ https://x/y#egg=z", "f");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, (Lines{"requests==2.32.0", "six >= 1", "pkg @ https://x/y#egg=z"}));
  EXPECT_EQ(*ParseRequirements("", "f"), Lines{});
}

TEST(RequirementsFile, AnOptionIsRefusedWithItsPlace) {
  for (const char* text : {"six\n-r other.txt\n", "six\n  --index-url http://x\n", "a\nsix \\\n"}) {
    const auto read = ParseRequirements(text, "req.txt");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(read.error().message().starts_with("req.txt:2: ")) << read.error().message();
  }
}

}  // namespace
}  // namespace polybox::packages

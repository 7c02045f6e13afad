#include "tools/reference.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tools/all_tools.h"
#include "tools/testing/sample_tools.h"

namespace polybox::tools {
namespace {

TEST(ToolReference, ShowsArgumentsResultsAndPromises) {
  const std::string page = ReferencePage(Registry::Make({testing::EchoTool()}).value());
  EXPECT_NE(page.find(R"(
## Group `core`

### echo

Echo. Returns its text (reads only.)

| argument | type | default | meaning |
|---|---|---|---|
| `text` | string | required | Text to repeat |
| `times` | integer, 1 to 1000 | `1` | How often |

| result | type | default | meaning |
|---|---|---|---|
| `text` | string | required |  |
)"),
            std::string::npos)
      << page;
}

TEST(ToolReference, ThePageIsFresh) {
  const Result<std::string> page = ReadFile(POLYBOX_SOURCE_DIR "/docs/tools.md");
  ASSERT_TRUE(page.ok()) << page.error().message();
  EXPECT_EQ(*page, ReferencePage(Registry::Make(AllTools()).value())) << "run: make docs";
}

}  // namespace
}  // namespace polybox::tools

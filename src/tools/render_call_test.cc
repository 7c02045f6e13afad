#include "tools/render_call.h"

#include <gtest/gtest.h>

#include "tools/data_files.h"
#include "tools/testing/workspace_fixture.h"

namespace polybox::tools {
namespace {

class RenderCallTest : public testing::WorkspaceFixture {
 protected:
  std::string Draw(const std::string& path, const std::string& source = "graph {}") const {
    return Do("render_dot", {{"source", source}, {"output_path", path}});
  }
};

TEST(RenderPrograms, TheBuiltInListHasAProgramForEachTool) {
  const Result<RenderPrograms> programs = ParseRenderPrograms(DataFiles()[1].content, "list");
  ASSERT_TRUE(programs.ok()) << programs.error().message();
  for (const Tool& tool : AllTools()) {
    if (tool.row.group != "render") continue;
    EXPECT_TRUE(programs->contains(tool.row.name)) << tool.row.name;
  }
  EXPECT_EQ(programs->size(), 2U);
  EXPECT_NE(programs->at("render_dot").install.find("graphviz"), std::string::npos);
}

TEST(RenderPrograms, AWrongListIsRefused) {
  EXPECT_FALSE(ParseRenderPrograms("[[program]]\ntool = \"x\"\n", "list").ok());
}

TEST_F(RenderCallTest, ArgumentsAreCheckedBeforeAnythingStarts) {
  EXPECT_EQ(Draw("a.svg", ""), "E: source is required");
  EXPECT_EQ(Draw(""), "E: output_path is required");
  EXPECT_EQ(Draw("a.gif"), "E: unsupported output extension \".gif\"; supported: .svg, .png, .pdf");
  EXPECT_EQ(Draw("svg"), "E: unsupported output extension \"\"; supported: .svg, .png, .pdf");
  EXPECT_EQ(Draw("a.svg", std::string((1U << 20U) + 1, 'x')),
            "E: source 1048577 bytes exceeds cap 1048576");
  EXPECT_EQ(Draw("../a.svg"), "E: resolve path: path is outside workspace root");
  Put("old.svg", "old");
  EXPECT_EQ(Draw("old.svg"), "E: refusing to overwrite old.svg: Read it first");
}

TEST_F(RenderCallTest, AProtectedPathIsRefused) {
  workspace::WorkspaceOptions options;
  options.protection = workspace::ProtectedPaths::FromSetting("default").value();
  Open(options);
  EXPECT_TRUE(Draw(".vscode/a.svg").starts_with("E: refusing to write .vscode/a.svg: "))
      << Draw(".vscode/a.svg");
}

}  // namespace
}  // namespace polybox::tools

// Two workspaces and a directory outside of them, for tests of the file tools. Not part of the
// program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "json/parse.h"
#include "json/value.h"
#include "json/write.h"
#include "tools/all_tools.h"
#include "tools/tool.h"
#include "workspace/workspace_set.h"

namespace polybox::tools::testing {

class WorkspaceFixture : public ::testing::Test {
 protected:
  WorkspaceFixture() : base_(std::filesystem::canonical(dir_.path()).string()) {
    dir_.Write("outside/secret", "the secret\n");
    std::filesystem::create_directories(base_ + "/main");
    std::filesystem::create_directories(base_ + "/other");
    Open({});
  }

  /// Opens the workspaces "main" and "other" again, with these options.
  void Open(const workspace::WorkspaceOptions& options) {
    auto set = workspace::WorkspaceSet::Open(
        {{"main", base_ + "/main"}, {"other", base_ + "/other"}}, options);
    ASSERT_TRUE(set.ok()) << set.error().message();
    set_ = std::make_unique<workspace::WorkspaceSet>(std::move(set).value());
  }

  std::string Root() const { return base_ + "/main"; }
  void Put(const std::string& path, const std::string& content) const {
    dir_.Write("main/" + path, content);
  }
  /// Returns the content of a file of "main", or "(none)".
  std::string Content(const std::string& path) const {
    return ReadFile(Root() + "/" + path).value_or("(none)");
  }
  mode_t ModeOf(const std::string& path) const {
    struct stat info{};
    EXPECT_EQ(::lstat((Root() + "/" + path).c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }

  /// Calls a tool by name for the workspace "main", unless the arguments name another.
  ToolAnswer Call(const std::string& name, json::Object arguments,
                  const std::string& principal = "stdio") const {
    static const std::vector<Tool> tools = AllTools();
    if (!arguments.contains("workspace")) arguments["workspace"] = "main";
    for (const Tool& tool : tools) {
      if (tool.row.name != name) continue;
      return tool.call(
          {.principal = principal, .workspaces = set_.get(), .cache_dir = base_ + "/cache"},
          arguments);
    }
    ADD_FAILURE() << "no tool " << name;
    return {};
  }

  /// Returns the text of the answer. Errors have "E: " in front, pictures are "[TYPE SIZE]".
  std::string Do(const std::string& name, const json::Object& arguments,
                 const std::string& principal = "stdio") const {
    const ToolAnswer answer = Call(name, arguments, principal);
    std::string text = answer.is_error ? "E: " : "";
    for (const Block& block : answer.content) {
      if (const auto* each = std::get_if<TextBlock>(&block)) text += each->text;
      if (const auto* each = std::get_if<ImageBlock>(&block)) {
        text += "[" + each->mime_type + " " + std::to_string(each->bytes.size()) + "]";
      }
    }
    return text;
  }
  std::string Read(const std::string& path) const { return Do("Read", {{"file_path", path}}); }

  /// A path of the workspace "main" and what its tools say of it.
  struct Row {
    json::Object arguments;
    std::string text;
  };
  void Expect(const std::string& tool, const std::vector<Row>& rows) const {
    for (const Row& row : rows) {
      EXPECT_EQ(Do(tool, row.arguments), row.text) << json::Write(row.arguments);
    }
  }

  polybox::testing::TempDir dir_;
  std::string base_;
  std::unique_ptr<workspace::WorkspaceSet> set_;
};

}  // namespace polybox::tools::testing

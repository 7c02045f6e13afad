// What is shown for a PATH with links, shims and entries that must not be shown.
#include "machine/shown_paths.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class ShownPathsTest : public ::testing::Test {
 protected:
  std::string At(const std::string& path) const { return root_ + "/" + path; }
  void Program(const std::string& path) {
    fs::create_directories(fs::path(At(path)).parent_path());
    directory_.Write(path, "#!/bin/sh\n");
    fs::permissions(At(path), fs::perms(0755));
  }
  void Link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(At(path)).parent_path());
    fs::create_symlink(target, At(path));
  }
  ShownPaths Find(const std::string& path,
                  const std::vector<languages::Toolchain>& toolchains = {}) {
    return FindShownPaths(path, toolchains, ClosedPaths({At("closed/workspace")}));
  }

  testing::TempDir directory_;
  std::string root_ = fs::canonical(directory_.path()).string();
};

TEST_F(ShownPathsTest, ALinkBringsTheDirectoryOfItsProgram) {
  Program("opt/tool/bin/tool");
  Program("opt/script/run.sh");
  Link("path/tool", "../opt/tool/bin/tool");
  Link("path/run", At("opt/script/run.sh"));
  Link("path/broken", At("nowhere"));
  ShownPaths shown = Find(At("path"));
  std::ranges::sort(shown.directories);
  EXPECT_EQ(shown.directories, (Paths{At("opt/script"), At("opt/tool"), At("path")}));
  EXPECT_EQ(shown.files, Paths{});
  EXPECT_EQ(shown.path, At("path") + ":/usr/local/bin:/usr/bin:/bin");
}

TEST_F(ShownPathsTest, ALinkedDirectoryOnTheWayIsShownUnderBothNames) {
  Program("opt/v2/bin/tool");
  Link("opt/current", "v2");
  Link("path/tool", "../opt/current/bin/tool");
  const ShownPaths shown = Find(At("path"));
  EXPECT_EQ(std::ranges::count(shown.directories, At("opt/v2")), 1);
  const std::vector<std::pair<std::string, std::string>> links = {
      {At("opt/current"), At("opt/v2")}};
  EXPECT_EQ(shown.links, links);
}

TEST_F(ShownPathsTest, WhatHoldsAClosedPathIsNotShown) {
  Program("closed/tool");
  Program("closed/bin/other");
  fs::create_directories(At("closed/workspace"));
  Link("path/tool", At("closed/tool"));
  Link("path/other", At("closed/bin/other"));
  const ShownPaths shown = Find(fmt::format("{}:{}:/:relative:.", At("path"), At("closed")));
  EXPECT_EQ(shown.files, Paths{At("closed/tool")}) << "the file alone";
  ShownPaths sorted = shown;
  std::ranges::sort(sorted.directories);
  EXPECT_EQ(sorted.directories, (Paths{At("closed/bin"), At("path")}));
  EXPECT_EQ(shown.path, At("path") + ":/usr/local/bin:/usr/bin:/bin");
}

TEST_F(ShownPathsTest, NoHomeAndNothingAboveItIsShown) {
  const ClosedPaths closed({});
  const char* home = std::getenv("HOME");
  ASSERT_NE(home, nullptr);
  for (const std::string& path :
       {std::string("/"), std::string("/home"), std::string("/home/any"),
        fs::canonical(home).string(), std::string("relative"), std::string("")}) {
    EXPECT_FALSE(closed.MayShow(path)) << path;
  }
  EXPECT_TRUE(closed.MayShow("/home/any/.pyenv/shims"));
  EXPECT_TRUE(closed.IsTopOfHome("/home/any/.local"));
  EXPECT_FALSE(closed.IsTopOfHome("/home/any/.local/share"));
}

TEST_F(ShownPathsTest, AToolchainsOwnDirectoryComesBeforeItsShim) {
  Program("shims/python3");
  Program("first/x");
  Program("versions/3.11/bin/python3");
  const languages::Toolchain python = {.binary = At("shims/python3"),
                                       .executable = At("versions/3.11/bin/python3"),
                                       .roots = {At("versions/3.11")},
                                       .version = ""};
  const ShownPaths shown = Find(At("first") + ":" + At("shims"), {python});
  EXPECT_EQ(shown.path, fmt::format("{}:{}:{}:/usr/local/bin:/usr/bin:/bin", At("first"),
                                    At("versions/3.11/bin"), At("shims")));
  EXPECT_EQ(std::ranges::count(shown.directories, At("versions/3.11")), 1);
}

TEST_F(ShownPathsTest, AVirtualEnvironmentBringsTheRootOfItsInterpreterAndNothingElse) {
  fs::create_directories(At("project/.venv"));
  Program("python/bin/python3.11");
  Link("python/bin/python3", "python3.11");
  Program("secrets/bin/key");
  Program("project/own/bin/python3");
  const auto workspace = workspace::Workspace::Open("w", At("project"), {});
  ASSERT_TRUE(workspace.ok());
  const ClosedPaths closed({At("project")});
  const std::pair<std::string, std::string> cases[] = {
      {"home = " + At("python/bin") + "\nversion = 3.11\n", At("python")},
      {"home=" + At("python/bin"), At("python")},
      {"home = " + At("secrets/bin"), ""},
      {"home = " + At("project/own/bin"), ""},
      {"home = relative/bin", ""},
      {"nothing", ""}};
  for (const auto& [text, root] : cases) {
    directory_.Write("project/.venv/pyvenv.cfg", text);
    EXPECT_EQ(VenvRoot(**workspace, closed), root) << text;
  }
  fs::remove(At("project/.venv/pyvenv.cfg"));
  directory_.Write("outside.cfg", "home = " + At("python/bin"));
  Link("project/.venv/pyvenv.cfg", At("outside.cfg"));
  EXPECT_EQ(VenvRoot(**workspace, closed), "") << "a link is not followed";
}

}  // namespace
}  // namespace polybox::machine

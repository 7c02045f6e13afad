#include "workspace/protected_paths.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace polybox::workspace {
namespace {

ProtectedPaths Default() {
  Result<ProtectedPaths> paths = ProtectedPaths::FromSetting("default");
  EXPECT_TRUE(paths.ok()) << paths.error().message();
  return std::move(paths).value();
}

TEST(ProtectedPaths, FilesThatOtherProgramsExecuteAreProtected) {
  const ProtectedPaths paths = Default();
  for (const char* path : {".git",
                           ".git/hooks",
                           ".git/hooks/pre-commit",
                           ".git/config",
                           "sub/.git/config",
                           "sub/.git",
                           "node_modules/x/.git/hooks/a",
                           ".git/modules/a/b/hooks/x",
                           ".git/modules/a/config",
                           ".git/modules/a/commondir",
                           ".git/modules/a/b/config.worktree",
                           ".git/modules/a/info/attributes",
                           ".git/remotes/origin",
                           "sub/.hg",
                           "sub/.hg/hgrc",
                           ".jj/repo/config.toml",
                           "lefthook-local.yml",
                           ".lefthook.toml",
                           ".helix/languages.toml",
                           "sub/mise.local.toml",
                           ".config/mise/config.toml",
                           "analysis/.Rprofile",
                           ".github/hooks/a.json",
                           ".local/bin/ls",
                           ".git/worktrees/w/config.worktree",
                           ".GIT/Hooks/x",
                           ".mcp.json",
                           "sub/.mcp.json",
                           ".vscode/tasks.json",
                           "a/b/.vscode/settings.json",
                           ".claude/settings.json",
                           ".envrc",
                           ".idea/workspace.xml",
                           "x.code-workspace",
                           ".bashrc",
                           "HEAD",
                           ".ssh/config"}) {
    EXPECT_NE(paths.Find(path), nullptr) << path;
  }
}

TEST(ProtectedPaths, FilesThatAgentsWriteAreNotProtected) {
  const ProtectedPaths paths = Default();
  for (const char* path : {"",
                           "src/main.c",
                           ".gitignore",
                           ".github/workflows/ci.yml",
                           ".git/HEAD",
                           ".git/index",
                           ".git/objects/aa/bb",
                           ".git/refs/heads/main",
                           ".git/COMMIT_EDITMSG",
                           ".git/logs/HEAD",
                           "node_modules/x/.vscode/settings.json",
                           "vendor/y/.envrc",
                           "sub/HEAD",
                           "sub/.bashrc",
                           "config",
                           "hooks/pre-commit",
                           "CLAUDE.md",
                           "my.vscode",
                           ".git/worktrees/w/HEAD",
                           ".git/modules/a/HEAD",
                           ".hg/dirstate",
                           ".hg/store/data",
                           ".jj/repo/store/x",
                           ".config/nextest.toml",
                           "sub/.local/bin/x",
                           "promise.toml",
                           ".github/workflows/hooks.yml"}) {
    EXPECT_EQ(paths.Find(path), nullptr) << path;
  }
}

TEST(ProtectedPaths, ASettingWidensTheListOrTurnsItOff) {
  const Result<ProtectedPaths> wide = ProtectedPaths::FromSetting("Makefile,deploy/keys");
  ASSERT_TRUE(wide.ok());
  EXPECT_NE(wide->Find("Makefile"), nullptr);
  EXPECT_NE(wide->Find("sub/deploy/keys/id"), nullptr);
  EXPECT_NE(wide->Find(".envrc"), nullptr);
  EXPECT_EQ(wide->Find("Makefile.am"), nullptr);
  const Result<ProtectedPaths> off = ProtectedPaths::FromSetting("off");
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off->Find(".git/hooks/x"), nullptr);
  for (const char* wrong : {"/etc", "../x", "a,,b", "a/../b"}) {
    EXPECT_FALSE(ProtectedPaths::FromSetting(wrong).ok()) << wrong;
  }
}

TEST(ProtectedPaths, MistakesInTheFileAreNamed) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"[[path]]\npath = \"a\"\nwhere = \"here\"\nreason = \"x\"\n", "where"},
      {"[[path]]\npath = \"/a\"\nwhere = \"root\"\nreason = \"x\"\n", "path"},
      {"[[path]]\npath = \"a\"\nwhere = \"root\"\n", "reason"},
      {"[[path]]\npath = \"a[\"\nwhere = \"root\"\nreason = \"x\"\n", "malformed"},
      {"[[paths]]\npath = \"a\"\n", "paths"},
  };
  for (const auto& [toml, word] : rows) {
    const Result<ProtectedPaths> paths = ProtectedPaths::Parse(toml, "p.toml");
    ASSERT_FALSE(paths.ok()) << toml;
    EXPECT_NE(paths.error().message().find("p.toml"), std::string::npos);
    EXPECT_NE(paths.error().message().find(word), std::string::npos) << paths.error().message();
  }
}

TEST(ProtectedPaths, LinksThatLeadToProtectedPathsAreKnown) {
  const ProtectedPaths paths = Default();
  for (const char* path : {".config", ".Config", ".git", "sub/.git", ".git/info", ".git/modules",
                           ".git/modules/a/b", ".git/worktrees/x"}) {
    EXPECT_NE(paths.FindAbove(path), nullptr) << path;
  }
  for (const char* path : {"", "src", "sub/.config", ".git/objects", ".envrc", "info"}) {
    EXPECT_EQ(paths.FindAbove(path), nullptr) << path;
  }
}

TEST(ProtectedPaths, TheLastNameOfEachRowIsKnown) {
  const ProtectedPaths paths = Default();
  for (const char* name : {".git", ".ENVRC", "hooks", "config", "x.code-workspace", "HEAD"}) {
    EXPECT_TRUE(paths.CouldEndWith(name)) << name;
  }
  for (const char* name : {"", "main.c", "info", ".config", "code-workspace", "modules"}) {
    EXPECT_FALSE(paths.CouldEndWith(name)) << name;
  }
}

TEST(ProtectedPaths, NoRowIsListedTwice) {
  std::set<std::string> seen;
  const ProtectedPaths paths = Default();
  for (const ProtectedPath& row : paths.rows()) EXPECT_TRUE(seen.insert(row.path).second);
}

}  // namespace
}  // namespace polybox::workspace

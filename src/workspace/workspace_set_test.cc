#include "workspace/workspace_set.h"

#include <filesystem>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "base/testing/temp_dir.h"

namespace polybox::workspace {
namespace {

using testing::TempDir;

TEST(ParseWorkspaces, ReadsNamesAndPaths) {
  const Result<std::vector<WorkspaceEntry>> entries =
      ParseWorkspaces(" a = /x/y , /srv/web/,,=/q/r,b=/z=1 ,");
  ASSERT_TRUE(entries.ok());
  std::string shown;
  for (const WorkspaceEntry& entry : *entries) shown += entry.name + ":" + entry.path + ";";
  EXPECT_EQ(shown, "a:/x/y;web:/srv/web/;r:/q/r;b:/z=1;");
}

TEST(ParseWorkspaces, MistakesHaveExactWords) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"a=", "workspaces: empty path in entry \"a=\""},
      {"/x, b = ", "workspaces: empty path in entry \"b =\""},
      {"", "workspaces: no entries parsed from \"\""},
      {" , ,", "workspaces: no entries parsed from \" , ,\""},
  };
  for (const auto& [text, message] : rows) {
    const Result<std::vector<WorkspaceEntry>> entries = ParseWorkspaces(text);
    ASSERT_FALSE(entries.ok()) << text;
    EXPECT_EQ(entries.error().message(), message);
  }
}

std::string ErrorOf(const WorkspaceSettings& settings) {
  const Result<WorkspaceSet> set = WorkspaceSet::Open(settings);
  return set.ok() ? "" : set.error().message();
}

TEST(WorkspaceSet, RootsThatCannotBeUsedHaveExactWords) {
  const TempDir dir;
  const std::string file = dir.Write("file", "");
  const std::string none = dir.path() + "/none";
  EXPECT_EQ(ErrorOf({.workspace = "x/y"}), "workspace: workspace root must be absolute: \"x/y\"");
  EXPECT_EQ(ErrorOf({.workspace = none}),
            "workspace: resolve workspace root: lstat " + none + ": no such file or directory");
  EXPECT_EQ(ErrorOf({.workspace = file}),
            "workspace: workspace root is not a directory: \"" + file + "\"");
  EXPECT_EQ(ErrorOf({.workspace = dir.path(), .workspaces = "a=/x"}),
            "workspace: -workspace \"" + dir.path() +
                "\" and -workspaces \"a=/x\" are mutually exclusive; use one");
  EXPECT_EQ(ErrorOf({.workspaces = "a=x"}),
            "workspace[0] (a): workspace root must be absolute: \"x\"");
  EXPECT_EQ(ErrorOf({.workspaces = "a=" + dir.path() + ",a=" + dir.path()}),
            "workspace[1]: duplicate name \"a\"");
  EXPECT_EQ(ErrorOf({.workspaces = "/"}),
            "workspace[0]: cannot derive a non-empty name from root \"/\"; pass an explicit name");
  EXPECT_EQ(WorkspaceSet::Open({}, {}).error().message(),
            "at least one workspace entry is required");
}

TEST(WorkspaceSet, ARefusedRootComesWithAdvice) {
  const auto fix_of = [](const WorkspaceSettings& settings) {
    const Result<WorkspaceSet> set = WorkspaceSet::Open(settings);
    return set.ok() ? "" : set.error().fix();
  };
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(fix_of({.workspace = "x/../y/"}), "name it as " + here + "/y");
  EXPECT_EQ(fix_of({.workspace = "."}), "name it as " + here);
  EXPECT_EQ(fix_of({.workspaces = "a=x"}), "name it as " + here + "/x");
  EXPECT_EQ(fix_of({.workspace = ""}), "");
  for (const char* path : {"~/project", "${workspaceFolder}", "$PWD"}) {
    EXPECT_EQ(fix_of({.workspace = path}),
              "write the path itself: nobody has replaced the \"~\" or the variable in it");
  }
  if (!std::filesystem::exists("/workspace")) {
    EXPECT_EQ(fix_of({.workspace = "/workspace"}),
              "--workspace DIR names the directory for the tools");
  }
}

TEST(WorkspaceSet, ARootThatThisUserMayNotEnterIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not enter";
  const TempDir dir;
  std::filesystem::create_directories(dir.path() + "/closed");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(dir.path() + "/closed", std::filesystem::perms(0700));
  std::string error;
  std::string fix;
  // The ids of a thread are its own if they are set without the library.
  std::thread([&] {
    ASSERT_EQ(::syscall(SYS_setresuid, -1, 65534, -1), 0);
    const Result<WorkspaceSet> set = WorkspaceSet::Open({.workspace = dir.path() + "/closed"});
    ASSERT_FALSE(set.ok());
    error = set.error().message();
    fix = set.error().fix();
  }).join();
  EXPECT_EQ(error, "workspace: workspace root: enter " + dir.path() + "/closed: permission denied");
  EXPECT_EQ(fix, "start polybox as the owner of the directory, or give this user access to it");
}

std::string Found(const WorkspaceSet& set, std::string_view hint) {
  const Result<Workspace*> found = set.Find(hint);
  return found.ok() ? (*found)->name() : found.error().message();
}

TEST(WorkspaceSet, AHintPicksAWorkspace) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path() + "/web");
  std::filesystem::create_directories(dir.path() + "/api");
  const Result<WorkspaceSet> one = WorkspaceSet::Open({.workspace = dir.path() + "/web/"});
  ASSERT_TRUE(one.ok()) << one.error().message();
  EXPECT_EQ(Found(*one, ""), "web");
  EXPECT_EQ(Found(*one, "  "), "web");
  EXPECT_EQ(Found(*one, " web "), "web");
  EXPECT_EQ(Found(*one, "Web"), "unknown workspace \"Web\"; configured: web");
  const Result<WorkspaceSet> two =
      WorkspaceSet::Open({.workspaces = "web=" + dir.path() + "/web," + dir.path() + "/api"});
  ASSERT_TRUE(two.ok()) << two.error().message();
  EXPECT_EQ(Found(*two, "api"), "api");
  EXPECT_EQ(Found(*two, ""),
            "multi-workspace sandbox: 2 workspaces configured (api, web) — pass `workspace` to "
            "pick one");
  EXPECT_EQ(Found(*two, "x"), "unknown workspace \"x\"; configured: api, web");
}

}  // namespace
}  // namespace polybox::workspace

#include "workspace/file_walk.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "workspace/remove_entry.h"
#include "workspace/workspace.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

class FileWalkTest : public ::testing::Test {
 protected:
  FileWalkTest() {
    auto workspace = Workspace::Open("w", dir_.path(), {});
    EXPECT_TRUE(workspace.ok());
    workspace_ = std::move(workspace).value();
  }

  Place At(const std::string& path) const {
    Result<Place> place = Resolve(workspace_->root(), path, LastLink::kKeep);
    EXPECT_TRUE(place.ok());
    return std::move(place).value();
  }

  /// Returns the visited paths, separated by spaces.
  std::string Visited(const std::string& start, const FileWalkOptions& options = {}) {
    std::string visited;
    Result<FileWalkReport> report =
        WalkFiles(workspace_->root(), At(start), options, [&](const FileWalkEntry& entry) {
          visited += (visited.empty() ? "" : " ") + entry.path;
          return Next::kContinue;
        });
    EXPECT_TRUE(report.ok());
    if (report.ok()) report_ = std::move(report).value();
    return visited;
  }

  TempDir dir_;
  std::unique_ptr<Workspace> workspace_;
  FileWalkReport report_;
};

TEST_F(FileWalkTest, IgnoreFilesHoldForTheirDirectory) {
  dir_.Write(".gitignore", "*.log\n/build/\n");
  dir_.Write(".ignore", "!kept.log\n");
  dir_.Write(".git/info/exclude", "private\n");
  dir_.Write(".git/config", "");
  dir_.Write("build/x", "");
  dir_.Write("sub/build/x", "");
  dir_.Write("sub/.gitignore", "!important.log\nlocal\n");
  for (const char* path : {"a.log", "kept.log", "private", "sub/a.log", "sub/important.log",
                           "sub/local", "local", ".hidden"}) {
    dir_.Write(path, "");
  }
  EXPECT_EQ(Visited(""),
            ".gitignore .hidden .ignore kept.log local sub sub/.gitignore sub/build sub/build/x "
            "sub/important.log");
  EXPECT_EQ(Visited("sub"), "sub/.gitignore sub/build sub/build/x sub/important.log");
  EXPECT_EQ(Visited("build"), "build/x");
  EXPECT_EQ(Visited(".git"), ".git/config .git/info .git/info/exclude");
  EXPECT_EQ(Visited("sub", {.ignored = Ignored::kInclude, .hidden = Hidden::kSkip}),
            "sub/a.log sub/build sub/build/x sub/important.log sub/local");
}

TEST_F(FileWalkTest, LinksFifosAndDepthCannotHoldIt) {
  fs::create_symlink("/", dir_.path() + "/host");
  fs::create_symlink(".", dir_.path() + "/self");
  ASSERT_EQ(::mkfifo((dir_.path() + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((dir_.path() + "/.gitignore").c_str(), 0600), 0);
  EXPECT_EQ(Visited(""), ".gitignore fifo host self");
  dir_.Write("a/b/c/d", "");
  EXPECT_EQ(Visited("", {.depth = 1}), ".gitignore a a/b fifo host self");
  EXPECT_EQ(report_.unread_count, 0U);
  std::string deep;
  for (int i = 0; i < 80; ++i) deep += "d/";
  dir_.Write("deep/" + deep + "x", "");
  Visited("deep");
  EXPECT_EQ(report_.unread_count, 1U);
}

TEST_F(FileWalkTest, EndsWhenItIsAskedTo) {
  dir_.Write("a", "");
  dir_.Write("b", "");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Visited("", {.stop = stop.get_token()}), "");
  EXPECT_EQ(report_.end, WalkEnd::kStopped);
  EXPECT_EQ(Visited("", {.deadline = std::chrono::steady_clock::time_point::min()}), "");
  EXPECT_EQ(report_.end, WalkEnd::kDeadline);
  const Result<FileWalkReport> report =
      WalkFiles(workspace_->root(), At(""), {}, [](const FileWalkEntry&) { return Next::kEnd; });
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->end, WalkEnd::kVisitor);
  EXPECT_EQ(Visited("", {.entries = 1}).size(), 1U);
  EXPECT_EQ(report_.unread_count, 1U);
}

TEST_F(FileWalkTest, ATreeIsRemovedWithoutFollowingLinks) {
  const TempDir outside;
  outside.Write("kept", "");
  dir_.Write("a/b/c", "");
  dir_.Write("a/d", "");
  fs::create_symlink(outside.path(), dir_.path() + "/a/link");
  const auto any = [](const std::string&) { return Status(); };
  const Result<Removed> removed = RemoveTree(At("a"), any);
  ASSERT_TRUE(removed.ok()) << removed.error().message();
  EXPECT_EQ(removed->files, 3U);
  EXPECT_EQ(removed->directories, 2U);
  EXPECT_FALSE(fs::exists(dir_.path() + "/a"));
  EXPECT_TRUE(fs::exists(outside.path() + "/kept"));
}

TEST_F(FileWalkTest, ATreeWithAnEntryThatMustStayIsNotTouched) {
  dir_.Write("a/b/stay", "");
  dir_.Write("a/c", "");
  const MayRemove check = [](const std::string& path) -> Status {
    if (path == "a/b/stay") return Error(ErrorKind::kInvalid, path + " stays");
    return {};
  };
  const Status checked = CheckTree(At("a"), check);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message(), "a/b/stay stays");
  EXPECT_FALSE(RemoveTree(At("a"), check).ok());
  EXPECT_TRUE(fs::exists(dir_.path() + "/a/b/stay"));
}

}  // namespace
}  // namespace polybox::workspace

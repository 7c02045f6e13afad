#include "workspace/resolve.h"

#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "workspace/workspace.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

/// A workspace `w` beside a directory with a secret.
class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() {
    dir_.Write("outside/secret", "secret");
    dir_.Write("w/sub/deep/file", "inside");
    root_ = fs::canonical(dir_.path()).string() + "/w";
    auto workspace = Workspace::Open("w", root_, {});
    EXPECT_TRUE(workspace.ok());
    workspace_ = std::move(workspace).value();
  }

  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, root_ + "/" + name);
  }

  /// Returns the resolved path, with "+" for each missing directory, or the error.
  std::string Of(const std::string& path, LastLink last = LastLink::kFollow) const {
    const Result<Place> place = Resolve(workspace_->root(), path, last);
    if (!place.ok()) return place.error().message();
    return place->path + std::string(place->missing.size(), '+');
  }

  std::string Missing(const std::string& path, const std::string& why) const {
    return "resolve path: lstat " + root_ + "/" + path + ": " + why;
  }

  TempDir dir_;
  std::string root_;
  std::unique_ptr<Workspace> workspace_;
};

constexpr const char* kOutside = "path is outside workspace root";

TEST_F(ResolveTest, PathsAreCleanedAndCompared) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"sub/deep/file", "sub/deep/file"},
      {root_ + "/sub/deep/file", "sub/deep/file"},
      {"./sub//deep/../deep/file", "sub/deep/file"},
      {"", ""},
      {".", ""},
      {root_, ""},
      {root_ + "/", ""},
      {"sub/..", ""},
      {"new", "new"},
      {"a/b/c", "a/b/c++"},
      {"sub/new/x", "sub/new/x+"},
      {"..", kOutside},
      {"../w/sub", "sub"},
      {"../outside/secret", kOutside},
      {"sub/../../outside/secret", kOutside},
      {"/etc/passwd", kOutside},
      {root_ + "x", kOutside},
      {root_ + "/../outside/secret", kOutside},
      {"sub/deep/file/x", Missing("sub/deep/file", "not a directory")},
      {"a\nb", "a\nb"},
      {"\xff\xfe", "\xff\xfe"},
      {std::string("a\0b", 3), "resolve path: lstat a: invalid argument"},
      {std::string(300, 'a'), Missing(std::string(300, 'a'), "file name too long")},
  };
  for (const auto& [path, expected] : rows) EXPECT_EQ(Of(path), expected) << path;
  EXPECT_EQ(Of(std::string(5000, 'a')),
            "resolve path: lstat " + std::string(100, 'a') + "...: file name too long");
}

TEST_F(ResolveTest, LinksAreFollowedIfTheyStayInside) {
  Link("sub/deep", "relative");
  Link(root_ + "/sub/deep", "absolute");
  Link("../sub/./deep/../deep/file", "sub/to_file");
  Link("relative", "twice");
  Link("../outside", "leads_out");
  Link("/etc/passwd", "passwd");
  Link("/", "host");
  Link("sub/../../outside/secret", "sub_out");
  Link("../w/sub", "out_and_in");
  Link("loop_b", "loop_a");
  Link("loop_a", "loop_b");
  Link("none", "dangling");
  Link("sub/none/x", "dangling_deep");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"relative/file", "sub/deep/file"},
      {"absolute/file", "sub/deep/file"},
      {"twice", "sub/deep"},
      {"twice/new", "sub/deep/new"},
      {"twice/new/newer", "sub/deep/new/newer+"},
      {"leads_out", kOutside},
      {"leads_out/secret", kOutside},
      {"leads_out/new", kOutside},
      {"passwd", kOutside},
      {"host/etc/passwd", kOutside},
      {"sub_out", kOutside},
      {"out_and_in", kOutside},
      {"loop_a", Missing("loop_a", "too many levels of symbolic links")},
      {"dangling", Missing("none", "no such file or directory")},
      {"dangling_deep", Missing("sub/none", "no such file or directory")},
  };
  for (const auto& [path, expected] : rows) EXPECT_EQ(Of(path), expected) << path;
  const std::string loop = Of("loop_a/x");
  EXPECT_NE(loop.find("too many levels of symbolic links"), std::string::npos) << loop;
  EXPECT_EQ(Of("passwd", LastLink::kKeep), "passwd");
  EXPECT_EQ(Of("relative/file", LastLink::kKeep), "sub/deep/file");
  EXPECT_EQ(Of("leads_out/secret", LastLink::kKeep), kOutside);
}

TEST_F(ResolveTest, ARootSpelledThroughALinkIsUnderstood) {
  fs::create_symlink(root_, dir_.path() + "/alias");
  const std::string alias = dir_.path() + "/alias";
  Link(alias + "/sub", "by_alias");
  const auto workspace = Workspace::Open("w", alias + "/", {});
  ASSERT_TRUE(workspace.ok());
  EXPECT_EQ((*workspace)->path(), root_);
  for (const std::string& path :
       {alias + "/sub/deep", root_ + "/sub/deep", root_ + "/by_alias/deep"}) {
    const Result<Place> place = Resolve((*workspace)->root(), path);
    ASSERT_TRUE(place.ok()) << place.error().message();
    EXPECT_EQ(place->path, "sub/deep");
  }
}

TEST_F(ResolveTest, TheDirectoryStaysTheSameWhenItsPathIsReplaced) {
  fs::rename(root_, dir_.path() + "/moved");
  fs::create_symlink(dir_.path() + "/outside", root_);
  const Result<Place> place = Resolve(workspace_->root(), "secret");
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(StateOf(*place).ok());
}

TEST_F(ResolveTest, NoRaceOfRenamesAndLinksLeadsOut) {
  fs::create_directory(root_ + "/a");
  fs::create_directory_symlink(dir_.path() + "/outside", root_ + "/b");
  dir_.Write("w/a/secret", "inside");
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    const std::string a = root_ + "/a";
    const std::string b = root_ + "/b";
    const std::string c = root_ + "/c";
    while (!done) {
      ::rename(a.c_str(), c.c_str());
      ::rename(b.c_str(), a.c_str());
      ::rename(c.c_str(), b.c_str());
    }
  });
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    const Result<Place> place = Resolve(workspace_->root(), i % 2 == 0 ? "a/secret" : "b/secret");
    if (!place.ok()) continue;
    const Result<UniqueFd> file = OpenAt(*place, O_RDONLY);
    if (!file.ok()) continue;
    EXPECT_EQ(ReadAll(file->get(), Bytes(100)).value_or(""), "inside");
    ++read;
  }
  done = true;
  attacker.join();
  EXPECT_GT(read, 0);
}

TEST_F(ResolveTest, NoRaceThatMovesADirectoryUpwardsLeadsOut) {
  // While the directory y is in the root, two steps upwards from it lead out of the workspace.
  fs::create_directories(root_ + "/x/y/z");
  Link("../../outside/secret", "x/y/up");
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    const std::string deep = root_ + "/x/y";
    const std::string high = root_ + "/y";
    while (!done) {
      ::rename(deep.c_str(), high.c_str());
      ::rename(high.c_str(), deep.c_str());
    }
  });
  for (int i = 0; i < 20000; ++i) {
    const Result<Place> place = Resolve(workspace_->root(), i % 2 == 0 ? "x/y/up" : "y/up");
    // While the directory is elsewhere, the place is that of an entry that does not exist.
    EXPECT_FALSE(place.ok() && StateOf(*place).ok());
  }
  done = true;
  attacker.join();
}

TEST_F(ResolveTest, PathsAreFoundHoweverDeepTheyAre) {
  std::string path = "d";
  for (int i = 0; i < 200; ++i) path += "/directory";
  fs::create_directories(root_ + "/" + path);
  EXPECT_EQ(Of(path + "/x"), path + "/x");
  Link(path, "to_deep");
  EXPECT_EQ(Of("to_deep/x"), path + "/x");
}

}  // namespace
}  // namespace polybox::workspace

// Tests of the snapshot tools. Only the tests start git, to compare with.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <unistd.h>

#include <fmt/format.h>

#include "tools/testing/workspace_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

class SnapshotToolsTest : public testing::WorkspaceFixture {
 protected:
  std::string Create(const std::string& name) const {
    return Do("snapshot_create", {{"name", name}});
  }
  std::string Restore(const std::string& name) const {
    return Do("snapshot_restore", {{"name", name}});
  }
  std::string Diff(const std::string& name) const { return Do("snapshot_diff", {{"name", name}}); }

  /// Creates a snapshot and returns its commit.
  std::string Commit(const std::string& name) const {
    const std::string text = Create(name);
    const std::string start = "snapshot " + name + " created: ";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(start.size(), 40);
  }

  /// Returns the paths of the changed files in an answer.
  static std::vector<std::string> PathsOf(const ToolAnswer& answer) {
    std::vector<std::string> paths;
    for (const json::Value& file : answer.structured.as_object().at("files").as_array()) {
      paths.emplace_back(file.as_object().at("path").as_string());
    }
    return paths;
  }

  /// Checks that git finds no fault with the repository or directory.
  void ExpectSound(const std::string& directory = "") const {
    const std::string found = Git("fsck --strict --no-dangling", directory);
    for (const char* fault : {"(status", "error", "missing", "broken", "warning"}) {
      EXPECT_EQ(found.find(fault), std::string::npos) << found;
    }
  }

  /// Runs git with a configuration that is not the user's, and returns what it prints.
  std::string Git(const std::string& arguments, const std::string& directory = "") const {
    const std::string where = directory.empty() ? Root() : directory;
    const std::string file = base_ + "/git-output";
    const std::string command = fmt::format(
        "cd '{}' && env -i PATH=\"$PATH\" HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 "
        "git -c user.name=n -c user.email=e -c safe.directory='*' {} > '{}' 2>&1",
        where, arguments, file);
    const int status = std::system(command.c_str());
    std::string output = ReadFile(file, Bytes::MiB(64)).value_or("");
    if (status != 0) output += fmt::format("(status {})", status);
    return output;
  }
};

TEST_F(SnapshotToolsTest, TheWordsAreThoseThatAgentsKnow) {
  EXPECT_EQ(Do("snapshot_list", {}), "no snapshots");
  Put("a.txt", "one\n");
  EXPECT_TRUE(std::regex_match(Create("s1"), std::regex("snapshot s1 created: [0-9a-f]{40}")));
  EXPECT_EQ(Diff("s1"), "no differences");
  EXPECT_EQ(Restore("s1"), "restored snapshot s1 (no files changed)");
  Put("a.txt", "two\n");
  EXPECT_EQ(Diff("s1"),
            "diff --git a/a.txt b/a.txt\nindex 5626abf..f719efd 100644\n--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1 +1 @@\n-one\n+two\n");
  EXPECT_EQ(Restore("s1"), "restored snapshot s1 (1 file(s) changed):\na.txt\n");
  EXPECT_EQ(Content("a.txt"), "one\n");
  EXPECT_TRUE(
      std::regex_match(Do("snapshot_list", {}),
                       std::regex("s1\t[0-9a-f]{12}\t[-0-9]+T[:0-9]+[+-][0-9:]+\tsnapshot s1\n")));
  EXPECT_EQ(Do("snapshot_delete", {{"name", "s1"}}), "snapshot s1 deleted");
  EXPECT_EQ(Do("snapshot_list", {}), "no snapshots");
}

TEST_F(SnapshotToolsTest, FailuresHaveExactWords) {
  Put("a", "");
  EXPECT_EQ(Create(""), "E: name is required");
  for (const char* wrong : {"-x", "a/b", "a..b", ".hidden", "a.lock", "a.", "a b", "a\nb", "é"}) {
    const std::string text = Create(wrong);
    EXPECT_TRUE(text.starts_with("E: invalid snapshot name \"")) << text;
    EXPECT_NE(text.find("must match [A-Za-z0-9_][A-Za-z0-9_.-]*"), std::string::npos) << text;
  }
  for (const char* tool : {"snapshot_restore", "snapshot_diff", "snapshot_delete"}) {
    EXPECT_EQ(Do(tool, {{"name", "none"}}), "E: snapshot \"none\" not found") << tool;
  }
  Create("s1");
  EXPECT_EQ(Diff("s2"), "E: snapshot \"s2\" not found\nthere are: s1");
  EXPECT_EQ(Create("s1"),
            "E: snapshot \"s1\" exists\nchoose another name, or overwrite=true replaces it");
}

TEST_F(SnapshotToolsTest, OverwriteReplacesASnapshotAndFreesItsContents) {
  Put("a", std::string(1000, 'x'));
  const std::string first = Commit("s");
  Put("a", "new");
  const std::string text = Do("snapshot_create", {{"name", "s"}, {"overwrite", true}});
  EXPECT_TRUE(text.starts_with("snapshot s created: ")) << text;
  EXPECT_EQ(text.find(first), std::string::npos);
  Put("a", "later");
  Restore("s");
  EXPECT_EQ(Content("a"), "new");
  std::size_t objects = 0;
  for (const auto& entry : fs::recursive_directory_iterator(base_ + "/cache")) {
    objects +=
        entry.path().string().find("/objects/") != std::string::npos && entry.is_regular_file() ? 1
                                                                                                : 0;
  }
  // A blob, a tree and a commit.
  EXPECT_EQ(objects, 3U);
}

TEST_F(SnapshotToolsTest, EveryChangeIsListedWhateverTheNamesAre) {
  const std::vector<std::string> names = {"content",    "dir/a b",      "ä.txt",    "line\nend",
                                          "\"quotes\"", "-dash",        "\xff\xfe", "back\\slash",
                                          "tab\t",      "deep/er/file", "*?[x]"};
  for (const std::string& name : names) Put(name, "old\n");
  Put("mode", "");
  Put("to_link", "");
  fs::create_symlink("target", Root() + "/link");
  Create("s");
  for (const std::string& name : names) {
    Put(name, "new\n");
    Put("extra " + name, "");
  }
  fs::permissions(Root() + "/mode", fs::perms::owner_exec, fs::perm_options::add);
  fs::remove(Root() + "/to_link");
  fs::create_symlink("content", Root() + "/to_link");
  fs::remove(Root() + "/link");
  Put("link/now/a/directory", "");
  const ToolAnswer diff = Call("snapshot_diff", {{"name", "s"}});
  const ToolAnswer restored = Call("snapshot_restore", {{"name", "s"}});
  // The names, and for each an extra one; mode, to_link, link, and the file below link.
  const std::size_t count = 2 * names.size() + 4;
  EXPECT_EQ(PathsOf(diff).size(), count);
  EXPECT_EQ(PathsOf(diff), PathsOf(restored));
  EXPECT_TRUE(restored.structured.as_object().at("kept").as_array().empty());
  EXPECT_EQ(Diff("s"), "no differences");
  for (const std::string& name : names) {
    EXPECT_EQ(Content(name), "old\n") << name;
    EXPECT_FALSE(fs::exists(Root() + "/extra " + name)) << name;
  }
  EXPECT_EQ(fs::read_symlink(Root() + "/link"), "target");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(Root() + "/to_link")));
  EXPECT_EQ(ModeOf("mode") & 0111U, 0U);
}

TEST_F(SnapshotToolsTest, TheTextOfARestoreHasOneLineForEachFile) {
  Put("a", "1");
  Put("b", "1");
  Put("ä\n", "1");
  Create("s");
  Put("a", "2");
  Put("ä\n", "2");
  Put("new", "");
  fs::remove(Root() + "/b");
  EXPECT_EQ(Restore("s"), "restored snapshot s (4 file(s) changed):\na\nb\nnew\nä\\n\n");
}

TEST_F(SnapshotToolsTest, ExecutableBitsAndLinksAreKept) {
  Put("run.sh", "#!/bin/sh\n");
  fs::permissions(Root() + "/run.sh", fs::perms(0755));
  fs::create_symlink("../outside/secret", Root() + "/out");
  fs::create_symlink("nowhere", Root() + "/dangling");
  Create("s");
  for (const char* name : {"run.sh", "out", "dangling"}) fs::remove(Root() + "/" + name);
  EXPECT_EQ(Restore("s"), "restored snapshot s (3 file(s) changed):\ndangling\nout\nrun.sh\n");
  EXPECT_EQ(ModeOf("run.sh") & 0111U, 0111U);
  EXPECT_EQ(fs::read_symlink(Root() + "/out"), "../outside/secret");
  EXPECT_EQ(fs::read_symlink(Root() + "/dangling"), "nowhere");
  EXPECT_EQ(ReadFile(base_ + "/outside/secret").value_or(""), "the secret\n");
}

TEST_F(SnapshotToolsTest, IgnoredFilesAreNeitherSavedNorTouched) {
  Put(".gitignore", "*.log\nbuild/\n");
  Put("a.log", "1");
  Put("build/out", "1");
  Put("src/a.c", "1");
  Create("s");
  Put("a.log", "2");
  Put("build/out", "2");
  Put("build/new", "2");
  Put("src/x.log", "2");
  EXPECT_EQ(Diff("s"), "no differences");
  EXPECT_EQ(Restore("s"), "restored snapshot s (no files changed)");
  EXPECT_EQ(Content("a.log"), "2");
  EXPECT_EQ(Content("build/new"), "2");
}

TEST_F(SnapshotToolsTest, WhatWasIgnoredWhenItWasSavedIsNotRemovedLater) {
  Put(".gitignore", "data/\n");
  Put("data/valuable", "1");
  Create("s");
  Put(".gitignore", "");
  Put("new", "");
  EXPECT_EQ(Restore("s"),
            "restored snapshot s (2 file(s) changed):\n.gitignore\nnew\n"
            "not restored (1):\n  data/valuable: the ignore files of the snapshot name it\n");
  EXPECT_EQ(Content("data/valuable"), "1");
}

TEST_F(SnapshotToolsTest, ProtectedFilesAreSavedAndNotRestored) {
  workspace::WorkspaceOptions options;
  options.protection = workspace::ProtectedPaths::FromSetting("default").value();
  Open(options);
  Put(".vscode/tasks.json", "old");
  Put("a", "old");
  Create("s");
  Put(".vscode/tasks.json", "new");
  Put(".envrc", "new");
  Put("a", "new");
  const std::string text = Restore("s");
  EXPECT_TRUE(
      text.starts_with("restored snapshot s (1 file(s) changed):\na\nnot restored (2):\n"
                       "  .envrc: protected, because direnv executes this program\n"
                       "  .vscode/tasks.json: protected, because "))
      << text;
  EXPECT_EQ(Content(".vscode/tasks.json"), "new");
  EXPECT_EQ(Content(".envrc"), "new");
}

TEST_F(SnapshotToolsTest, ALinkIsNotRestoredWhereItWouldLeadToOtherProtectedFiles) {
  fs::create_symlink("evil", Root() + "/.config");
  Create("s");
  fs::remove(Root() + "/.config");
  workspace::WorkspaceOptions options;
  options.protection = workspace::ProtectedPaths::FromSetting("default").value();
  Open(options);
  const std::string text = Restore("s");
  EXPECT_NE(text.find("not restored (1):\n  .config: protected, because"), std::string::npos)
      << text;
  EXPECT_FALSE(fs::exists(fs::symlink_status(Root() + "/.config")));
}

TEST_F(SnapshotToolsTest, WhatIsNotSavedIsNamed) {
  Put("a", "");
  Put("inner/.git/HEAD", "ref: refs/heads/main\n");
  Put("inner/file", "");
  Put("module/.git", "gitdir: ../x\n");
  Put("module/file", "");
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  Put("large", "");
  fs::resize_file(Root() + "/large", (std::uintmax_t{64} << 20U) + 1);
  const std::string text = Create("s");
  EXPECT_NE(text.find("not saved (4):\n  fifo: a FIFO\n  inner: a repository of its own\n"
                      "  large: 67108865 bytes, over 64MiB\n  module: a repository of its own\n"),
            std::string::npos)
      << text;
  fs::remove(Root() + "/a");
  EXPECT_EQ(Restore("s"), "restored snapshot s (1 file(s) changed):\na\n");
  EXPECT_TRUE(fs::exists(Root() + "/inner/file"));
  EXPECT_TRUE(fs::exists(Root() + "/large"));
}

TEST_F(SnapshotToolsTest, FilesInARepositoryThatAppearedLaterStay) {
  Put("sub/a", "old");
  Create("s");
  Put("sub/.git/HEAD", "");
  Put("sub/a", "new");
  EXPECT_EQ(Diff("s"), "no differences\nin no snapshot (1):\n  sub: a repository of its own\n");
  EXPECT_EQ(Restore("s"),
            "restored snapshot s (no files changed)\n"
            "not restored (1):\n  sub/a: sub is a repository of its own\n");
  EXPECT_EQ(Content("sub/a"), "new");
}

TEST_F(SnapshotToolsTest, ADirectoryWithIgnoredFilesIsNotReplacedByAFile) {
  Put(".gitignore", "*.log\n");
  Put("x", "file");
  Create("s");
  fs::remove(Root() + "/x");
  Put("x/keep.log", "1");
  Put("x/other", "1");
  EXPECT_EQ(Restore("s"),
            "restored snapshot s (1 file(s) changed):\nx/other\nnot restored (1):\n"
            "  x: a directory with files that the snapshot lacks is in its place\n");
  EXPECT_EQ(Content("x/keep.log"), "1");
}

TEST_F(SnapshotToolsTest, AFileThatBecameTooLargeCountsAsChanged) {
  Put("f", "small");
  Create("s");
  fs::resize_file(Root() + "/f", std::uintmax_t{65} << 20U);
  EXPECT_TRUE(Diff("s").starts_with("diff --git a/f b/f\nindex ")) << Diff("s");
  EXPECT_NE(Restore("s").find("not restored (1):\n  f: 68157440 bytes, over 64MiB\n"),
            std::string::npos);
}

TEST_F(SnapshotToolsTest, WithoutARepositoryTheProjectStaysWithoutOne) {
  Put("a", "1");
  Create("s");
  Put("a", "2");
  Restore("s");
  Do("snapshot_delete", {{"name", "s"}});
  EXPECT_EQ(std::distance(fs::directory_iterator(Root()), {}), 1);
}

TEST_F(SnapshotToolsTest, TheStoreIsARepositoryThatGitFindsComplete) {
  Put("dir/a", "1");
  const std::string commit = Commit("s");
  for (const auto& entry : fs::directory_iterator(base_ + "/cache/workspaces")) {
    const std::string store = entry.path().string() + "/snapshots";
    ExpectSound(store);
    EXPECT_EQ(Git("show refs/sandbox/snapshots/s:dir/a", store), "1");
  }
}

TEST_F(SnapshotToolsTest, SnapshotsAreRefsOfTheRepository) {
  Git("init -q -b main");
  Put("a", "1");
  Git("add a");
  Git("commit -qm first");
  const std::string head = Git("rev-parse HEAD");
  const std::string index = ReadFile(Root() + "/.git/index").value_or("");
  Put("a", "2");
  Put("dir/b", "3");
  const std::string commit = Commit("s");
  EXPECT_EQ(Git("rev-parse refs/sandbox/snapshots/s"), commit + "\n");
  EXPECT_EQ(Git("show refs/sandbox/snapshots/s:dir/b"), "3");
  ExpectSound();
  EXPECT_EQ(Git("diff --name-only HEAD refs/sandbox/snapshots/s"), "a\ndir/b\n");
  EXPECT_EQ(Git("rev-parse HEAD"), head);
  EXPECT_EQ(ReadFile(Root() + "/.git/index").value_or("(none)"), index);
  EXPECT_EQ(Do("snapshot_delete", {{"name", "s"}}), "snapshot s deleted");
  EXPECT_EQ(Git("for-each-ref refs/sandbox"), "");
}

TEST_F(SnapshotToolsTest, PackedRefsAndObjectsAreNoHindrance) {
  Git("init -q -b main");
  Put("a", "1");
  Create("s1");
  Create("s2");
  EXPECT_EQ(Git("pack-refs --all"), "");
  Git("gc -q --prune=now");
  EXPECT_EQ(Do("snapshot_delete", {{"name", "s1"}}), "snapshot s1 deleted");
  EXPECT_EQ(Git("for-each-ref --format='%(refname)' refs/sandbox"), "refs/sandbox/snapshots/s2\n");
  Put("a", "2");
  EXPECT_EQ(Restore("s2"), "restored snapshot s2 (1 file(s) changed):\na\n");
  ExpectSound();
}

TEST_F(SnapshotToolsTest, ARepositoryThatIsDestroyedTakesNoSnapshotAlong) {
  Git("init -q");
  Put("a", "1");
  Create("s");
  fs::remove_all(Root() + "/.git");
  Put("a", "2");
  EXPECT_EQ(Restore("s"), "restored snapshot s (1 file(s) changed):\na\n");
}

TEST_F(SnapshotToolsTest, ARefOfTheUserIsNotReplaced) {
  Git("init -q -b main");
  Put("a", "1");
  Git("add a");
  Git("commit -qm first");
  Git("update-ref refs/sandbox/snapshots/s HEAD");
  const std::string head = Git("rev-parse HEAD");
  const std::string text = Create("s");
  EXPECT_NE(text.find("(the repository has no ref refs/sandbox/snapshots/s: "
                      "refs/sandbox/snapshots/s exists and names another commit; the snapshot is "
                      "complete)"),
            std::string::npos)
      << text;
  EXPECT_EQ(Git("rev-parse refs/sandbox/snapshots/s"), head);
  EXPECT_EQ(Do("snapshot_delete", {{"name", "s"}}), "snapshot s deleted");
  EXPECT_EQ(Git("rev-parse refs/sandbox/snapshots/s"), head);
}

TEST_F(SnapshotToolsTest, ARepositoryOfAnotherFormatIsNotWrittenTo) {
  Git("init -q --object-format=sha256");
  Put("a", "1");
  const std::string text = Create("s");
  EXPECT_NE(text.find("its configuration contains the word objectformat"), std::string::npos)
      << text;
  ExpectSound();
  Put("a", "2");
  EXPECT_EQ(Restore("s"), "restored snapshot s (1 file(s) changed):\na\n");
}

TEST_F(SnapshotToolsTest, ALockOfAnotherProgramIsRespected) {
  Git("init -q");
  Put("a", "1");
  Put(".git/refs/sandbox/snapshots/s.lock", "");
  const std::string text = Create("s");
  EXPECT_NE(text.find("another program holds refs/sandbox/snapshots/s.lock"), std::string::npos)
      << text;
  EXPECT_TRUE(fs::exists(Root() + "/.git/refs/sandbox/snapshots/s.lock"));
}

TEST_F(SnapshotToolsTest, ReadingWritesNothing) {
  Put("a", "1");
  Create("s");
  Put("a", "2");
  Open({.access = workspace::Access::kReadOnly});
  const auto state = [&] {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(base_)) {
      all += fmt::format("{} {}\n", entry.path().string(),
                         entry.last_write_time().time_since_epoch().count());
    }
    return all;
  };
  const std::string before = state();
  EXPECT_NE(Diff("s").find("+2"), std::string::npos);
  EXPECT_NE(Do("snapshot_list", {}).find("s\t"), std::string::npos);
  EXPECT_EQ(Do("snapshot_list", {{"workspace", "other"}}), "no snapshots");
  EXPECT_EQ(Create("t"), "E: workspace \"main\" is read-only");
  EXPECT_EQ(Restore("s"), "E: workspace \"main\" is read-only");
  EXPECT_EQ(Do("snapshot_delete", {{"name", "s"}}), "E: workspace \"main\" is read-only");
  EXPECT_EQ(state(), before);
}

TEST_F(SnapshotToolsTest, ALongDiffNamesEveryFile) {
  for (int i = 0; i < 50; ++i) Put(fmt::format("f{:02}", i), "old\n");
  Create("s");
  for (int i = 0; i < 50; ++i) Put(fmt::format("f{:02}", i), std::string(200, 'x') + "\n");
  const std::string text = Do("snapshot_diff", {{"name", "s"}, {"budget_tokens", 500}});
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(text.find(fmt::format("f{:02}", i)), std::string::npos) << i;
  }
  EXPECT_NE(text.find("changed too, not shown (4"), std::string::npos) << text;
  EXPECT_LT(text.size(), 4000U);
  const std::string one = Do("snapshot_diff", {{"name", "s"}, {"path", "f07"}});
  EXPECT_TRUE(one.starts_with("diff --git a/f07 b/f07\n")) << one;
  EXPECT_EQ(one.find("f08"), std::string::npos);
}

TEST_F(SnapshotToolsTest, ADamagedSnapshotIsReportedAndCanBeDeleted) {
  Put("a", "1");
  Create("bad");
  Put("a", "2");
  Create("good");
  for (const auto& entry : fs::recursive_directory_iterator(base_ + "/cache")) {
    if (entry.path().filename() == "bad") dir_.Write(fs::relative(entry.path(), base_), "zzz\n");
  }
  EXPECT_EQ(Restore("bad"), "E: snapshot \"bad\" is damaged");
  EXPECT_NE(Do("snapshot_list", {}).find("good\t"), std::string::npos);
  EXPECT_EQ(Do("snapshot_delete", {{"name", "bad"}}), "snapshot bad deleted");
  Put("a", "3");
  EXPECT_EQ(Restore("good"), "restored snapshot good (1 file(s) changed):\na\n");
  EXPECT_EQ(Content("a"), "2");
}

/// Makes random files: names, contents, modes, links and ignore rules.
void MakeRandomTree(std::mt19937& random, const std::string& root) {
  const std::vector<std::string> names = {"a", "b.c", "a.b", "a0",     "A",
                                          "ä", "x y", "z\n", "log.log"};
  const std::vector<std::string> rules = {"*.log\n", "a\n",      "/b.c\n", "A/\n",
                                          "!a\n",    "a*/b.c\n", "\n# x\n"};
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  for (int i = 0; i < 25; ++i) {
    fs::path path = root;
    for (auto depth = random() % 3; depth > 0; --depth) path /= pick(names);
    std::error_code blocked;
    fs::create_directories(path, blocked);
    if (blocked) continue;
    if (random() % 8 == 0) {
      std::ofstream(path / ".gitignore") << pick(rules) << pick(rules);
    }
    const fs::path file = path / pick(names);
    if (fs::exists(fs::symlink_status(file))) continue;
    if (random() % 6 == 0) {
      fs::create_symlink(pick(names), file);
      continue;
    }
    std::ofstream(file) << std::string(random() % 50, 'x') << random() % 10;
    if (random() % 4 == 0) fs::permissions(file, fs::perms(0755));
  }
}

TEST_F(SnapshotToolsTest, TheTreeIsTheOneThatGitMakes) {
  constexpr int kTrees = 12;
  for (int seed = 0; seed < kTrees; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    fs::remove_all(Root());
    fs::create_directories(Root());
    Open({});
    MakeRandomTree(random, Root());
    Git("init -q");
    Git("add --all");
    const std::string tree = Git("write-tree");
    Commit("s" + std::to_string(seed));
    EXPECT_EQ(Git("rev-parse 'refs/sandbox/snapshots/s" + std::to_string(seed) + "^{tree}'"), tree)
        << "seed " << seed << "\n"
        << Git("status --short");
  }
}

TEST_F(SnapshotToolsTest, RestoringARandomTreeLeavesNoDifference) {
  constexpr int kTrees = 12;
  for (int seed = 100; seed < 100 + kTrees; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    fs::remove_all(Root());
    fs::create_directories(Root());
    Open({});
    MakeRandomTree(random, Root());
    fs::remove(Root() + "/.gitignore");
    const std::string name = "s" + std::to_string(seed);
    Create(name);
    fs::remove_all(Root() + "/a");
    MakeRandomTree(random, Root());
    const ToolAnswer diff = Call("snapshot_diff", {{"name", name}});
    const ToolAnswer restored = Call("snapshot_restore", {{"name", name}});
    const std::size_t kept = restored.structured.as_object().at("kept").as_array().size();
    EXPECT_EQ(restored.structured.as_object().at("files").as_array().size() + kept,
              diff.structured.as_object().at("files").as_array().size())
        << seed;
    // Files that a newer ignore file named before are not touched, and appear now.
    const ToolAnswer left = Call("snapshot_diff", {{"name", name}});
    for (const json::Value& file : left.structured.as_object().at("files").as_array()) {
      if (kept != 0) continue;
      EXPECT_EQ(file.as_object().at("change").as_string(), "added") << seed;
    }
  }
}

}  // namespace
}  // namespace polybox::tools

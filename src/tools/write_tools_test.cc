// Tests of Write, Edit, Move and Delete.
#include <csignal>
#include <filesystem>
#include <thread>
#include <unistd.h>

#include <sys/mount.h>
#include <sys/resource.h>

#include "tools/testing/workspace_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

class WriteToolsTest : public testing::WorkspaceFixture {
 protected:
  std::string Write(const std::string& path, const std::string& content) const {
    return Do("Write", {{"file_path", path}, {"content", content}});
  }
  std::string Edit(const std::string& path, const std::string& from, const std::string& to) const {
    return Do("Edit", {{"file_path", path}, {"old_string", from}, {"new_string", to}});
  }
  void ExpectNothingLeft() const {
    for (const auto& entry : fs::recursive_directory_iterator(Root())) {
      EXPECT_EQ(entry.path().filename().string().find(".polybox"), std::string::npos)
          << entry.path();
    }
  }
};

TEST_F(WriteToolsTest, WriteMakesFilesAndReplacesThoseThatWereRead) {
  EXPECT_EQ(Write("a/b/c.txt", "x\n"), "wrote 2 bytes to a/b/c.txt");
  EXPECT_EQ(Content("a/b/c.txt"), "x\n");
  EXPECT_EQ(Write("a/b/c.txt", ""), "wrote 0 bytes to a/b/c.txt");
  Put("old", "1");
  EXPECT_EQ(Write("old", "2"), "E: refusing to overwrite old: Read it first");
  EXPECT_EQ(Content("old"), "1");
  Read("old");
  EXPECT_EQ(Write("old", "2"), "wrote 1 bytes to old");
  EXPECT_EQ(Write(Root() + "/old", "3"), "wrote 1 bytes to " + Root() + "/old");
  EXPECT_EQ(Content("old"), "3");
  ExpectNothingLeft();
}

TEST_F(WriteToolsTest, FailuresOfWriteHaveExactWords) {
  Put("dir/x", "");
  Put("file", "");
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  fs::create_symlink(base_ + "/outside/secret", Root() + "/secret");
  fs::create_symlink(base_ + "/outside", Root() + "/out");
  EXPECT_EQ(Write("", ""), "E: file_path is required");
  EXPECT_EQ(Write("dir", ""), "E: path is a directory: dir");
  EXPECT_EQ(Write("fifo", ""), "E: path is not a regular file: fifo is a FIFO");
  EXPECT_EQ(Write("secret", ""), "E: resolve path: path is outside workspace root");
  EXPECT_EQ(Write("out/new", ""), "E: resolve path: path is outside workspace root");
  EXPECT_EQ(Write("../new", ""), "E: resolve path: path is outside workspace root");
  EXPECT_EQ(Write("file/x", ""),
            "E: resolve path: resolve path: lstat " + Root() + "/file: not a directory");
  EXPECT_FALSE(fs::exists(base_ + "/outside/new"));
}

TEST_F(WriteToolsTest, FailuresOfEditHaveExactWords) {
  Put("a", "x y x\n");
  Put("dir/x", "");
  const json::Object file = {{"file_path", "a"}};
  const auto with = [&](json::Object more) {
    more["file_path"] = "a";
    return more;
  };
  EXPECT_EQ(Edit("a", "x", "y"), "E: refusing to edit a: Read it first");
  Read("a");
  Expect("Edit",
         {
             {{{"file_path", ""}}, "E: file_path is required"},
             {file, "E: old_string is required"},
             {with({{"old_string", ""}, {"new_string", "a"}}), "E: old_string must be non-empty"},
             {with({{"old_string", "y"}}), "E: new_string is required"},
             {{{"file_path", "dir"}, {"old_string", "a"}, {"new_string", "b"}},
              "E: path is a directory: dir"},
             {{{"file_path", "none"}, {"old_string", "a"}, {"new_string", "b"}},
              "E: stat: stat " + Root() + "/none: no such file or directory"},
             {with({{"old_string", "z"}, {"new_string", "a"}}), "E: old_string not found in a"},
             {with({{"old_string", "x"}, {"new_string", "a"}}),
              "E: old_string matched 2 times in a; add context to make it unique or set "
              "replace_all=true"},
         });
  EXPECT_EQ(Content("a"), "x y x\n");
}

TEST_F(WriteToolsTest, EditReplacesTextExactly) {
  Put("a", "x y x\n");
  Read("a");
  EXPECT_EQ(Edit("a", "y", "$1 \\0\nz"), "replaced 1 occurrence(s) in a");
  EXPECT_EQ(Content("a"), "x $1 \\0\nz x\n");
  EXPECT_EQ(
      Do("Edit",
         {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "xx"}, {"replace_all", true}}),
      "replaced 2 occurrence(s) in a");
  EXPECT_EQ(Content("a"), "xx $1 \\0\nz xx\n");
  EXPECT_EQ(Edit("a", " $1 \\0\nz", ""), "replaced 1 occurrence(s) in a");
  EXPECT_EQ(Content("a"), "xx xx\n");
}

TEST_F(WriteToolsTest, SeveralEditsAreMadeOrNone) {
  Put("a", "one two three\n");
  Read("a");
  const auto edit = [&](const char* from, const char* to) {
    return json::Object{{"old_string", from}, {"new_string", to}};
  };
  EXPECT_EQ(
      Do("Edit", {{"file_path", "a"},
                  {"edits", json::Array{edit("one", "1"), edit("1 two", "2"), edit("none", "x")}}}),
      "E: edits[2]: old_string not found in a");
  EXPECT_EQ(Content("a"), "one two three\n");
  EXPECT_EQ(Do("Edit",
               {{"file_path", "a"}, {"edits", json::Array{edit("one", "1"), edit("1 two", "2")}}}),
            "replaced 2 occurrence(s) in a");
  EXPECT_EQ(Content("a"), "2 three\n");
  EXPECT_EQ(Do("Edit", {{"file_path", "a"}, {"edits", json::Array{edit("", "1")}}}),
            "E: edits[0]: old_string must be non-empty");
  EXPECT_EQ(
      Do("Edit", {{"file_path", "a"}, {"old_string", "2"}, {"edits", json::Array{edit("2", "1")}}}),
      "E: edits goes without old_string, new_string, replace_all");
}

TEST_F(WriteToolsTest, AStaleReadIsNoticedByContent) {
  Put("a", "x 1\n");
  Read("a");
  Put("a", "x 2\n");
  EXPECT_EQ(Edit("a", "x", "y"),
            "E: refusing to edit a: it has changed since it was read; Read it again");
  EXPECT_EQ(Write("a", "y"),
            "E: refusing to overwrite a: it has changed since it was read; Read it again");
  // The same content at another time is no change.
  Put("a", "x 1\n");
  EXPECT_EQ(Edit("a", "x", "y"), "replaced 1 occurrence(s) in a");
  EXPECT_EQ(Edit("a", "y", "z"), "replaced 1 occurrence(s) in a");
}

TEST_F(WriteToolsTest, AFileReadByACallerIsUnreadForOtherCallersAndWorkspaces) {
  Put("a", "x\n");
  dir_.Write("other/a", "x\n");
  Read("a");
  const json::Object edit = {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}};
  EXPECT_EQ(Do("Edit", edit, "another"), "E: refusing to edit a: Read it first");
  json::Object other = edit;
  other["workspace"] = "other";
  EXPECT_EQ(Do("Edit", other), "E: refusing to edit a: Read it first");
  EXPECT_EQ(Do("Read", {{"file_path", base_ + "/other/a"}}),
            "E: resolve path: path is outside workspace root");
  EXPECT_EQ(Do("Edit", edit), "replaced 1 occurrence(s) in a");
}

TEST_F(WriteToolsTest, LineEndsAndByteOrderMarksAreKept) {
  Put("crlf", "\xEF\xBB\xBFone\r\ntwo\r\nthree\r\n");
  Read("crlf");
  EXPECT_EQ(Edit("crlf", "one\ntwo", "1\n2\n2b"), "replaced 1 occurrence(s) in crlf");
  EXPECT_EQ(Content("crlf"),
            "\xEF\xBB\xBF"
            "1\r\n2\r\n2b\r\nthree\r\n");
  EXPECT_EQ(Edit("crlf", "three", "3\n4"), "replaced 1 occurrence(s) in crlf");
  EXPECT_EQ(Edit("crlf", "\n3\r\n", "\nX\n"), "replaced 1 occurrence(s) in crlf");
  EXPECT_EQ(Content("crlf"),
            "\xEF\xBB\xBF"
            "1\r\n2\r\n2b\r\nX\r\n4\r\n");
  EXPECT_EQ(Write("crlf", "a\nb\n"),
            "wrote 9 bytes to crlf\n(the line ends of the file stay CRLF)\n"
            "(the byte-order mark of the file stays)");
  EXPECT_EQ(Content("crlf"),
            "\xEF\xBB\xBF"
            "a\r\nb\r\n");
  EXPECT_EQ(Do("Write", {{"file_path", "crlf"}, {"content", "a\n"}, {"line_ends", "as_given"}}),
            "wrote 2 bytes to crlf");
  EXPECT_EQ(Content("crlf"), "a\n");
  Put("mixed", "a\nb\r\nc\n");
  Read("mixed");
  EXPECT_EQ(Edit("mixed", "a\nb\nc", "x\ny"), "replaced 1 occurrence(s) in mixed");
  EXPECT_EQ(Content("mixed"), "x\ny\n");
  Put("bytes", "\xff\xfe\x01 x\n");
  Read("bytes");
  EXPECT_EQ(Edit("bytes", "x", "y"), "replaced 1 occurrence(s) in bytes");
  EXPECT_EQ(Content("bytes"), "\xff\xfe\x01 y\n");
}

TEST_F(WriteToolsTest, AModeIsKept) {
  Put("a.sh", "x\n");
  fs::permissions(Root() + "/a.sh", fs::perms(0755));
  Read("a.sh");
  Edit("a.sh", "x", "y");
  EXPECT_EQ(ModeOf("a.sh"), 0755U);
  Write("a.sh", "z\n");
  EXPECT_EQ(ModeOf("a.sh"), 0755U);
}

TEST_F(WriteToolsTest, ALinkInsideStaysALink) {
  Put("target", "x\n");
  fs::create_symlink("target", Root() + "/link");
  Read("link");
  EXPECT_EQ(Edit("link", "x", "y"), "replaced 1 occurrence(s) in link");
  EXPECT_TRUE(fs::is_symlink(Root() + "/link"));
  EXPECT_EQ(Content("target"), "y\n");
}

TEST_F(WriteToolsTest, ProtectedPathsAreRefusedByEveryToolThatWrites) {
  auto protection = workspace::ProtectedPaths::FromSetting("default");
  ASSERT_TRUE(protection.ok());
  Open({.protection = *protection});
  Put(".envrc", "x\n");
  Put("sub/.git/hooks/pre-commit", "x\n");
  Put("evil", "x\n");
  Put("hooks/pre-commit", "x\n");
  fs::create_symlink("sub/.git/hooks", Root() + "/innocent");
  Read(".envrc");
  const std::string advice =
      "\nask the user to make this change; the setting protected-paths says what is protected";
  EXPECT_EQ(Write(".envrc", ""),
            "E: refusing to write .envrc: .envrc is protected, because "
            "direnv executes this program" +
                advice);
  EXPECT_EQ(Edit(".envrc", "x", "y"),
            "E: refusing to edit .envrc: .envrc is protected, because "
            "direnv executes this program" +
                advice);
  EXPECT_EQ(Write("innocent/post-commit", "x"),
            "E: refusing to write innocent/post-commit: sub/.git/hooks/post-commit is protected, "
            "because git executes these programs" +
                advice);
  const auto starts = [&](const std::string& tool, const json::Object& arguments,
                          const std::string& start) {
    const std::string text = Do(tool, arguments);
    EXPECT_TRUE(text.starts_with(start)) << text;
  };
  starts("Write", {{"file_path", ".vscode/tasks.json"}, {"content", ""}},
         "E: refusing to write .vscode/tasks.json: ");
  starts("Write", {{"file_path", "new/.git"}, {"content", ""}}, "E: refusing to write new/.git: ");
  starts("Move", {{"source", "evil"}, {"destination", ".mcp.json"}},
         "E: refusing to move to .mcp.json: ");
  starts("Move", {{"source", "hooks"}, {"destination", "x/.git/hooks"}},
         "E: refusing to move to x/.git/hooks: ");
  starts("Move", {{"source", "sub"}, {"destination", "y"}},
         "E: refusing to move sub: sub/.git is protected");
  starts("Delete", {{"path", ".envrc"}}, "E: refusing to delete .envrc: ");
  starts("Delete", {{"path", "sub"}, {"recursive", true}},
         "E: refusing to delete sub: sub/.git is protected");
  EXPECT_EQ(Content(".envrc"), "x\n");
  EXPECT_EQ(Content("sub/.git/hooks/pre-commit"), "x\n");
  EXPECT_FALSE(fs::exists(Root() + "/x"));
}

TEST_F(WriteToolsTest, AReadOnlyWorkspaceIsNotWritten) {
  Put("a", "x\n");
  Open({.access = workspace::Access::kReadOnly});
  EXPECT_EQ(Read("a"), "1\tx\n");
  const std::string refused = "E: workspace \"main\" is read-only";
  EXPECT_EQ(Write("b", ""), refused);
  EXPECT_EQ(Edit("a", "x", "y"), refused);
  EXPECT_EQ(Do("Move", {{"source", "a"}, {"destination", "b"}}), refused);
  EXPECT_EQ(Do("Delete", {{"path", "a"}}), refused);
  EXPECT_EQ(Content("a"), "x\n");
}

TEST_F(WriteToolsTest, AFileThatItsOwnerMayNotWriteStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a workspace of another user";
  ASSERT_EQ(::chown(Root().c_str(), 1234, 1234), 0);
  Put("of_root", "x\n");
  Put("locked", "x\n");
  Put("secret", "x\n");
  fs::permissions(Root() + "/secret", fs::perms(0600));
  ASSERT_EQ(::chown((Root() + "/locked").c_str(), 1234, 1234), 0);
  fs::permissions(Root() + "/locked", fs::perms(0444));
  Open({});
  EXPECT_EQ(Read("secret"), "E: read: open " + Root() + "/secret: permission denied");
  Read("of_root");
  Read("locked");
  EXPECT_EQ(Edit("of_root", "x", "y"), "E: write: open " + Root() + "/of_root: permission denied");
  EXPECT_EQ(Edit("locked", "x", "y"), "E: write: open " + Root() + "/locked: permission denied");
  EXPECT_EQ(Write("new/file", "x"), "wrote 1 bytes to new/file");
  struct stat info{};
  ASSERT_EQ(::stat((Root() + "/new/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  ExpectNothingLeft();
}

TEST_F(WriteToolsTest, AFullDiskLeavesEverythingAsItWas) {
  const std::string disk = Root() + "/disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "a small file system can only be mounted by root";
  }
  Put("disk/a", "old\n");
  Read("disk/a");
  const std::string large(200000, 'x');
  EXPECT_EQ(Write("disk/a", large), "E: write: write " + disk + "/a: no space left on device");
  EXPECT_EQ(Write("disk/b/c", large), "E: write: write " + disk + "/b/c: no space left on device");
  EXPECT_EQ(Content("disk/a"), "old\n");
  EXPECT_FALSE(fs::exists(disk + "/b"));
  ExpectNothingLeft();
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(WriteToolsTest, EditsAtTheSameTimeLoseNothing) {
  constexpr int kWriters = 8;
  std::string content;
  for (int i = 0; i < kWriters; ++i) content += "<" + std::to_string(i) + ">\n";
  Put("a", content);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([this, i] {
      const std::string mine = "<" + std::to_string(i) + ">";
      // Another writer may come between the reading and the edit, which is then refused.
      for (int attempt = 0; attempt < 1000; ++attempt) {
        Do("Read", {{"file_path", "a"}}, mine);
        const std::string done = Do(
            "Edit", {{"file_path", "a"}, {"old_string", mine}, {"new_string", mine + "!"}}, mine);
        if (done == "replaced 1 occurrence(s) in a") return;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::string expected;
  for (int i = 0; i < kWriters; ++i) expected += "<" + std::to_string(i) + ">!\n";
  EXPECT_EQ(Content("a"), expected);
}

TEST_F(WriteToolsTest, MoveRenamesAndReplacesNothing) {
  Put("a", "x\n");
  Put("b", "y\n");
  Put("dir/c", "z\n");
  fs::create_symlink("/etc/passwd", Root() + "/link");
  Expect("Move", {
                     {{{"source", ""}, {"destination", "x"}}, "E: source is required"},
                     {{{"source", "a"}, {"destination", ""}}, "E: destination is required"},
                     {{{"source", "a"}, {"destination", "b"}},
                      "E: destination exists: b\nDelete it first, or choose another path"},
                     {{{"source", "none"}, {"destination", "x"}},
                      "E: stat: stat " + Root() + "/none: no such file or directory"},
                     {{{"source", "a"}, {"destination", "../outside/a"}},
                      "E: resolve path: path is outside workspace root"},
                     {{{"source", "../outside/secret"}, {"destination", "x"}},
                      "E: resolve path: path is outside workspace root"},
                     {{{"source", "."}, {"destination", "x"}},
                      "E: move: the root of the workspace stays where it is"},
                     {{{"source", "dir"}, {"destination", "dir/sub/x"}},
                      "E: move: rename " + Root() + "/dir/sub/x: invalid argument"},
                     {{{"source", "a"}, {"destination", "new/sub/a"}}, "moved a to new/sub/a"},
                     {{{"source", "dir"}, {"destination", "folder"}}, "moved dir to folder"},
                     {{{"source", "link"}, {"destination", "link2"}}, "moved link to link2"},
                 });
  EXPECT_EQ(Content("new/sub/a"), "x\n");
  EXPECT_EQ(Content("folder/c"), "z\n");
  EXPECT_FALSE(fs::exists(Root() + "/folder/sub"));
  Read("b");
  Do("Move", {{"source", "b"}, {"destination", "b2"}});
  EXPECT_EQ(Edit("b2", "y", "yy"), "replaced 1 occurrence(s) in b2");
}

TEST_F(WriteToolsTest, DeleteRemovesWhatItIsTold) {
  Put("a", "");
  Put("dir/sub/b", "");
  Put("dir/c", "");
  fs::create_symlink(base_ + "/outside", Root() + "/dir/out");
  fs::create_symlink(base_ + "/outside/secret", Root() + "/secret");
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  Expect("Delete",
         {
             {{{"path", ""}}, "E: path is required"},
             {{{"path", "."}}, "E: delete: the root of the workspace stays"},
             {{{"path", "../outside/secret"}}, "E: resolve path: path is outside workspace root"},
             {{{"path", "dir/out/secret"}}, "E: resolve path: path is outside workspace root"},
             {{{"path", "none"}}, "E: stat: stat " + Root() + "/none: no such file or directory"},
             {{{"path", "dir"}},
              "E: path is a directory: dir\n"
              "recursive=true deletes it with its contents"},
             {{{"path", "a"}}, "deleted a"},
             {{{"path", "secret"}}, "deleted secret"},
             {{{"path", "fifo"}}, "deleted fifo"},
             {{{"path", "dir"}, {"recursive", true}}, "deleted dir (3 files, 2 directories)"},
         });
  EXPECT_TRUE(fs::is_empty(Root()));
  EXPECT_TRUE(fs::exists(base_ + "/outside/secret"));
}

}  // namespace
}  // namespace polybox::tools

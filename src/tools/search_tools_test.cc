// Tests of Glob, Grep and List.
#include <filesystem>
#include <unistd.h>

#include "tools/file_types.h"
#include "tools/testing/workspace_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

class SearchToolsTest : public testing::WorkspaceFixture {
 protected:
  /// Makes a file that was changed `age` seconds ago.
  void PutAged(const std::string& path, int age) const {
    Put(path, "");
    fs::last_write_time(Root() + "/" + path,
                        fs::file_time_type::clock::now() - std::chrono::seconds(age));
  }
};

TEST_F(SearchToolsTest, GlobListsTheLatestChangeFirst) {
  PutAged("a.go", 30);
  PutAged("sub/b.go", 20);
  PutAged("sub/deep/c.go", 10);
  PutAged("d.txt", 5);
  PutAged("e.ts", 5);
  PutAged(".hidden.go", 1);
  PutAged(".github/ci.yml", 1);
  PutAged("ignored/x.go", 3);
  PutAged(".git/y.go", 1);
  Put(".gitignore", "ignored/\n");
  fs::create_symlink(base_ + "/outside", Root() + "/out");
  const json::Object all = {{"pattern", "*.go"}, {"include_ignored", true}};
  Expect("Glob", {
                     {{{"pattern", "*.go"}}, "sub/deep/c.go\nsub/b.go\na.go"},
                     {{{"pattern", "**/*.go"}}, "sub/deep/c.go\nsub/b.go\na.go"},
                     {{{"pattern", "sub/*.go"}}, "sub/b.go"},
                     {{{"pattern", "*.go"}, {"path", "sub"}}, "sub/deep/c.go\nsub/b.go"},
                     {{{"pattern", "deep/*"}, {"path", "sub"}}, "sub/deep/c.go"},
                     {{{"pattern", "sub/deep/*"}, {"path", "sub"}}, "sub/deep/c.go"},
                     {{{"pattern", Root() + "/sub/*.go"}}, "sub/b.go"},
                     {{{"pattern", "*.{txt,md}"}}, "d.txt"},
                     {{{"pattern", ".github/**"}}, ".github/ci.yml"},
                     {{{"pattern", "secret"}}, ""},
                     {{{"pattern", "*.none"}}, ""},
                     {{{"pattern", "*.go"}, {"limit", 1}}, "sub/deep/c.go"},
                     {{{"pattern", "*.go"}, {"limit", 1}, {"offset", 1}}, "sub/b.go"},
                     {all, ".hidden.go\nignored/x.go\nsub/deep/c.go\nsub/b.go\na.go"},
                     {{{"pattern", ""}}, "E: pattern is required"},
                     {{{"pattern", "["}}, "E: malformed pattern \"[\": a \"[\" is not closed"},
                     {{{"pattern", "*"}, {"path", "../outside"}},
                      "E: resolve path: path is outside workspace root"},
                     {{{"pattern", "*"}, {"path", "none"}},
                      "E: stat path: stat " + Root() + "/none: no such file or directory"},
                     {{{"pattern", "*"}, {"path", "a.go"}}, "E: path is not a directory: a.go"},
                 });
}

TEST_F(SearchToolsTest, PathsThatGlobLeavesOutAreCounted) {
  for (int i = 100; i < 250; ++i) PutAged("f" + std::to_string(i), 1000 - i);
  const std::string text = Do("Glob", {{"pattern", "f*"}});
  EXPECT_TRUE(text.starts_with("f249\nf248\n"));
  EXPECT_TRUE(text.ends_with("f150\n(50 more left out; offset=100 shows the next)")) << text;
  EXPECT_TRUE(Do("Glob", {{"pattern", "f*"}, {"offset", 100}}).ends_with("f101\nf100"));
  EXPECT_TRUE(Do("Glob", {{"pattern", "f*"}, {"limit", 150}, {"budget_tokens", 100}})
                  .ends_with("(70 more left out; offset=80 shows the next)"));
}

TEST_F(SearchToolsTest, NamesCannotForgeLines) {
  Put("a\nb", "x\n");
  Put("\xff", "x\n");
  EXPECT_EQ(Do("Glob", {{"pattern", "a*"}}), "a\\nb");
  EXPECT_EQ(Do("Grep", {{"pattern", "x"}}), "a\\nb:1:x\n\xEF\xBF\xBD:1:x\n");
  EXPECT_EQ(Do("List", {}), "a\\nb\t2\n\xEF\xBF\xBD\t2\n");
}

TEST_F(SearchToolsTest, GrepShowsLinesInTheOrderOfPaths) {
  Put("b.go", "func One() {\n}\nfunc Two() {\n");
  Put("a/x.go", "// func\nfunc Three()\r\n");
  Put(".hidden", "func hidden\n");
  Put("ignored.go", "func ignored\n");
  Put(".gitignore", "ignored.go\n");
  Put("binary", std::string("func\0", 5));
  Put(".git/config", "func\n");
  fs::create_symlink(base_ + "/outside/secret", Root() + "/link");
  const std::string all =
      ".hidden:1:func hidden\na/x.go:2:func Three()\nb.go:1:func One() {\nb.go:3:func Two() {\n";
  Expect(
      "Grep",
      {
          {{{"pattern", "^func"}}, all},
          {{{"pattern", "^FUNC"}}, ""},
          {{{"pattern", "^FUNC"}, {"case_insensitive", true}}, all},
          {{{"pattern", "^func"}, {"path", "a"}}, "a/x.go:2:func Three()\n"},
          {{{"pattern", "^func"}, {"path", "b.go"}}, "1:func One() {\n3:func Two() {\n"},
          {{{"pattern", "\\)$"}}, "a/x.go:2:func Three()\n"},
          {{{"pattern", "^func"}, {"glob", "b.*"}}, "b.go:1:func One() {\nb.go:3:func Two() {\n"},
          {{{"pattern", "^func"}, {"glob", "a/**"}}, "a/x.go:2:func Three()\n"},
          {{{"pattern", "^func"}, {"glob", "x.*"}, {"path", "a"}}, "a/x.go:2:func Three()\n"},
          {{{"pattern", "^func"}, {"glob", "!*.go"}}, ".hidden:1:func hidden\n"},
          {{{"pattern", "^func"}, {"glob", "ignored.go"}}, ""},
          {{{"pattern", "^func"}, {"glob", "ignored.go"}, {"include_ignored", true}},
           "ignored.go:1:func ignored\n"},
          {{{"pattern", "^func"}, {"type", "go"}, {"path", "a"}}, "a/x.go:2:func Three()\n"},
          {{{"pattern", "func"}, {"output_mode", "files_with_matches"}}, ".hidden\na/x.go\nb.go\n"},
          {{{"pattern", "func"}, {"output_mode", "count"}}, ".hidden:1\na/x.go:2\nb.go:2\n"},
          {{{"pattern", "func"}, {"output_mode", "count"}, {"path", "b.go"}}, "2\n"},
          {{{"pattern", "func"}, {"output_mode", "files_with_matches"}, {"path", "b.go"}},
           "b.go\n"},
          {{{"pattern", "^func"}, {"head_limit", 2}},
           ".hidden:1:func hidden\na/x.go:2:func Three()\n"},
          {{{"pattern", "^func"}, {"head_limit", 1}, {"offset", 2}}, "b.go:1:func One() {\n"},
          {{{"pattern", "secret"}}, ""},
          {{{"pattern", "func"}, {"path", "binary"}}, "(a binary file, not searched)\n"},
      });
}

TEST_F(SearchToolsTest, FailuresOfGrepHaveExactWords) {
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  Expect(
      "Grep",
      {
          {{{"pattern", ""}}, "E: pattern is required"},
          {{{"pattern", "a"}, {"output_mode", "x"}},
           "E: unknown output_mode: x (valid: content, files_with_matches, count)"},
          {{{"pattern", "a"}, {"path", "../outside"}},
           "E: resolve path: path is outside workspace root"},
          {{{"pattern", "a"}, {"path", "none"}},
           "E: stat path: stat " + Root() + "/none: no such file or directory"},
          {{{"pattern", "a"}, {"path", "fifo"}}, "E: path is not a regular file: fifo is a FIFO"},
          {{{"pattern", "a("}}, "E: grep: regex: missing ): a("},
          {{{"pattern", "a{1000}{1000}"}}, "E: grep: regex: bad repetition operator: {1000}{1000}"},
          {{{"pattern", "(?=a)"}}, "E: grep: regex: invalid perl operator: (?="},
      });
  EXPECT_TRUE(Do("Grep", {{"pattern", "a"}, {"type", "x"}})
                  .starts_with("E: unknown type: x (valid: asm, c, c++, "));
}

TEST_F(SearchToolsTest, GrepShowsContextAndMatchesOverLines) {
  Put("a", "1\n2\nx3\n4\n5\n6\n7\nx8\nx9\n10\n");
  Put("b", "x\n");
  Put("c", "y\nz");
  Put("empty", "");
  Expect("Grep",
         {
             {{{"pattern", "x"}, {"path", "a"}, {"context", 1}},
              "2-2\n3:x3\n4-4\n--\n7-7\n8:x8\n9:x9\n10-10\n"},
             {{{"pattern", "x"}, {"before", 1}, {"glob", "a"}},
              "a-2-2\na:3:x3\n--\na-7-7\na:8:x8\na:9:x9\n"},
             {{{"pattern", "x"}, {"after", 1}},
              "a:3:x3\na-4-4\n--\na:8:x8\na:9:x9\na-10-10\n--\nb:1:x\n"},
             {{{"pattern", "2\\sx3"}, {"path", "a"}}, ""},
             {{{"pattern", "2\\sx3"}, {"path", "a"}, {"multiline", true}}, "2:2\n3:x3\n"},
             {{{"pattern", "4.*7"}, {"path", "a"}, {"multiline", true}}, "4:4\n5:5\n6:6\n7:7\n"},
             {{{"pattern", "x9\n"}, {"path", "a"}, {"multiline", true}}, "9:x9\n"},
             {{{"pattern", "^"}, {"path", "b"}}, "1:x\n"},
             {{{"pattern", "\\s*"}, {"path", "b"}}, "1:x\n"},
             {{{"pattern", "[^x]+9"}, {"path", "a"}}, ""},
             {{{"pattern", "$"}, {"path", "c"}}, "1:y\n2:z\n"},
             {{{"pattern", "z$"}, {"path", "c"}, {"multiline", true}}, "2:z\n"},
             {{{"pattern", "$"}, {"path", "c"}, {"multiline", true}}, "1:y\n2:z\n"},
             {{{"pattern", ".*"}, {"path", "empty"}}, ""},
         });
}

TEST_F(SearchToolsTest, AnUnreadableFileDoesNotSpoilTheSearch) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a workspace of another user";
  Put("a", "x\n");
  Put("locked", "x\n");
  Put("closed/z", "x\n");
  fs::permissions(Root() + "/locked", fs::perms(0600));
  fs::permissions(Root() + "/closed", fs::perms(0700));
  ASSERT_EQ(::chown(Root().c_str(), 1234, 1234), 0);
  Open({});
  EXPECT_EQ(Do("Grep", {{"pattern", "x"}}),
            "a:1:x\n(1 not read: closed: Permission denied)\n"
            "(1 files not searched: locked: cannot be opened)\n");
}

TEST_F(SearchToolsTest, LinesThatGrepLeavesOutAreCounted) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "x\n";
  Put("a", lines);
  Put("b", "x\n");
  const std::string text = Do("Grep", {{"pattern", "x"}, {"budget_tokens", 100}});
  EXPECT_TRUE(text.starts_with("a:1:x\na:2:x\n"));
  EXPECT_TRUE(text.ends_with("a:58:x\n(943 more left out; offset=58 shows the next)\n")) << text;
  EXPECT_TRUE(Do("Grep", {{"pattern", "x"}, {"offset", 1000}}) == "b:1:x\n");
  Put("c", std::string(5000, 'y') + "\n");
  EXPECT_EQ(Do("Grep", {{"pattern", "y"}}),
            "c:1:" + std::string(2000, 'y') + " [... 3000 bytes left out]\n");
}

TEST_F(SearchToolsTest, AnExpressionCannotTakeLong) {
  Put("a", std::string(1 << 20, 'a') + "\n");
  EXPECT_EQ(Do("Grep", {{"pattern", "(a*)*b"}}), "");
  EXPECT_EQ(Do("Grep", {{"pattern", "(a|a)*(x|y)+(a|aa)+$"}, {"multiline", true}}), "");
}

TEST_F(SearchToolsTest, ListShowsADirectory) {
  Put("a", "123");
  Put("sub/deep/b", "");
  Put("node_modules/x/y", "");
  Put(".git/config", "");
  Put(".gitignore", "node_modules\n");
  fs::create_symlink("/etc", Root() + "/etc");
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  const std::string first = ".git/\n.gitignore\t13\na\t3\netc -> /etc\nfifo\t(not a file)\n";
  Expect("List", {
                     {{}, first + "node_modules/\nsub/\n"},
                     {{{"depth", 9}}, first + "node_modules/\nsub/\nsub/deep/\nsub/deep/b\t0\n"},
                     {{{"path", "sub"}, {"depth", 2}}, "sub/deep/\nsub/deep/b\t0\n"},
                     {{{"path", "node_modules"}}, "node_modules/x/\n"},
                     {{{"limit", 1}, {"offset", 2}}, "a\t3\n"},
                     {{{"path", "etc"}}, "E: resolve path: path is outside workspace root"},
                     {{{"path", "a"}}, "E: path is not a directory: a"},
                 });
  for (int i = 0; i < 100; ++i) Put("many/" + std::to_string(1000 + i), "");
  EXPECT_TRUE(Do("List", {{"path", "many"}, {"budget_tokens", 100}})
                  .ends_with("many/1032\t0\n(67 more left out; offset=33 shows the next)\n"));
}

TEST(FileTypes, TheListCanBeReadAndMistakesAreNamed) {
  EXPECT_TRUE(FilesOfType("py").ok());
  for (const char* wrong :
       {"[[type]]\nnames = [\"a\"]\n", "[[type]]\nnames = []\nfiles = [\"*.a\"]\n",
        "[[type]]\nnames = [\"a\", \"a\"]\nfiles = [\"*.a\"]\n", "[[typ]]\n"}) {
    EXPECT_FALSE(ParseFileTypes(wrong, "types.toml").ok()) << wrong;
  }
}

}  // namespace
}  // namespace polybox::tools

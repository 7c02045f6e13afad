#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "tools/testing/workspace_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

class ReadToolTest : public testing::WorkspaceFixture {};

std::string Lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

std::string Numbered(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += std::to_string(i) + "\tline " + std::to_string(i) + "\n";
  }
  return text;
}

TEST_F(ReadToolTest, LinesHaveNumbers) {
  Put("a", "x\ny\n");
  Put("no_end", "x\ny");
  Put("empty", "");
  Put("crlf", "x\r\ny\rz\r\n");
  Put("mark", "\xEF\xBB\xBFx\n");
  Put("blank", "\n\n");
  Put("sub/a\nb", "x\n");
  Put("five", Lines(1, 5));
  Expect("Read", {
                     {{{"file_path", "a"}}, "1\tx\n2\ty\n"},
                     {{{"file_path", Root() + "/a"}}, "1\tx\n2\ty\n"},
                     {{{"file_path", "no_end"}}, "1\tx\n2\ty\n"},
                     {{{"file_path", "empty"}}, ""},
                     {{{"file_path", "empty"}, {"offset", 1}}, ""},
                     {{{"file_path", "crlf"}}, "1\tx\n2\ty\rz\n"},
                     {{{"file_path", "mark"}}, "1\tx\n"},
                     {{{"file_path", "blank"}}, "1\t\n2\t\n"},
                     {{{"file_path", "sub/a\nb"}}, "1\tx\n"},
                     {{{"file_path", "five"}, {"offset", 4}}, Numbered(4, 5)},
                     {{{"file_path", "five"}, {"offset", 2}, {"limit", 2}}, Numbered(2, 3)},
                     {{{"file_path", "five"}, {"offset", -3}, {"limit", 1}}, Numbered(1, 1)},
                     {{{"file_path", "five"}, {"limit", 0}}, Numbered(1, 5)},
                 });
}

TEST_F(ReadToolTest, FailuresHaveExactWords) {
  Put("a", "x\n");
  Put("dir/x", "");
  Put("long", std::string(1U << 20U, 'x') + "\n");
  Put("binary", std::string("a\0b", 3));
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  fs::create_symlink("/etc/passwd", Root() + "/passwd");
  fs::create_symlink("/dev/zero", Root() + "/zero");
  fs::create_symlink("none", Root() + "/dangling");
  Expect(
      "Read",
      {
          {{{"file_path", ""}}, "E: file_path is required"},
          {{{"file_path", "/etc/passwd"}}, "E: resolve path: path is outside workspace root"},
          {{{"file_path", "../outside/secret"}}, "E: resolve path: path is outside workspace root"},
          {{{"file_path", "passwd"}}, "E: resolve path: path is outside workspace root"},
          {{{"file_path", "zero"}}, "E: resolve path: path is outside workspace root"},
          {{{"file_path", "dangling"}},
           "E: resolve path: resolve path: lstat " + Root() + "/none: no such file or directory"},
          {{{"file_path", "none"}}, "E: stat: stat " + Root() + "/none: no such file or directory"},
          {{{"file_path", "no/ne"}},
           "E: stat: stat " + Root() + "/no/ne: no such file or directory"},
          {{{"file_path", "a/x"}},
           "E: resolve path: resolve path: lstat " + Root() + "/a: not a directory"},
          {{{"file_path", "dir"}}, "E: path is a directory: dir"},
          {{{"file_path", "."}}, "E: path is a directory: ."},
          {{{"file_path", "fifo"}}, "E: path is not a regular file: fifo is a FIFO"},
          {{{"file_path", "a"}, {"offset", 3}}, "E: read: offset 3 exceeds line count 1"},
          {{{"file_path", "long"}},
           "E: read: bufio.Scanner: token too long\n"
           "a line has 1 MiB or more; search in the file with Grep"},
          {{{"file_path", "binary"}},
           "E: read: binary is a binary file of 3 bytes\n"
           "look at it with a command, such as file, xxd or strings"},
          {{{"file_path", "a"}, {"workspace", "x"}},
           "E: unknown workspace \"x\"; configured: main, other"},
          {{{"file_path", "a"}, {"workspace", " "}},
           "E: multi-workspace sandbox: 2 workspaces configured (main, other) — pass "
           "`workspace` to pick one"},
      });
}

TEST_F(ReadToolTest, ASocketIsNoFile) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const UniqueFd owner(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = Root() + "/socket";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(Read("socket"), "E: path is not a regular file: socket is a socket");
}

TEST_F(ReadToolTest, LinesThatTheDefaultsLeaveOutAreCounted) {
  Put("many", Lines(1, 2500));
  EXPECT_EQ(Read("many"),
            Numbered(1, 2000) + "(lines 2001-2500 left out; Read on with offset=2001)\n");
  EXPECT_EQ(Do("Read", {{"file_path", "many"}, {"offset", 2001}}), Numbered(2001, 2500));
  const std::string small =
      Do("Read", {{"file_path", "many"}, {"limit", 500}, {"budget_tokens", 100}});
  EXPECT_EQ(small, Numbered(1, 38) + "(lines 39-2500 left out; Read on with offset=39)\n");
}

TEST_F(ReadToolTest, ALineLongerThanTheBudgetIsShownInPart) {
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "ä";
  Put("long", line + "\nend\n");
  const std::string text = Do("Read", {{"file_path", "long"}, {"budget_tokens", 100}});
  EXPECT_EQ(text, "1\t" + line.substr(0, 396) +
                      "\n(1604 bytes of line 1 left out; a larger budget_tokens shows more)\n"
                      "(lines 2-2 left out; Read on with offset=2)\n");
}

TEST_F(ReadToolTest, HugeAndSparseFilesAreRefusedBeforeTheyAreRead) {
  const UniqueFd file(::open((Root() + "/sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), off_t{1} << 40), 0);
  EXPECT_EQ(Read("sparse"),
            "E: read: sparse is a binary file of 1099511627776 bytes\n"
            "look at it with a command, such as file, xxd or strings");
  const std::string text(10000, 'x');
  ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), 10000);
  EXPECT_EQ(Read("sparse"),
            "E: read: sparse has 1099511627776 bytes; at most 256MiB of such a file can be read\n"
            "search in the file with Grep, or look at a part of it with a command");
}

TEST_F(ReadToolTest, APictureIsAPicture) {
  Put("a.png", std::string("\x89PNG\r\n\x1a\n\0\0", 10));
  Put("b.dat", "\xff\xd8\xff\xe0");
  Put("c.gif", "GIF89a");
  Put("d.webp", "RIFF1234WEBPVP8 ");
  Put("e.png", "no picture\n");
  EXPECT_EQ(Read("a.png"), "[image/png 10]");
  EXPECT_EQ(Read("b.dat"), "[image/jpeg 4]");
  EXPECT_EQ(Read("c.gif"), "[image/gif 6]");
  EXPECT_EQ(Read("d.webp"), "[image/webp 16]");
  EXPECT_EQ(Read("e.png"), "1\tno picture\n");
}

TEST_F(ReadToolTest, ANotebookIsShownAsCells) {
  const std::string notebook = R"({"cells":[
    {"cell_type":"markdown","id":"m1","source":["# Title\n","text"]},
    {"cell_type":"code","source":"print(1)\n","outputs":[
      {"output_type":"stream","text":["1\n"]},
      {"output_type":"display_data","data":{"text/plain":"<Figure>","image/png":"iVBORw0K\n"}},
      {"output_type":"error","ename":"KeyError","evalue":"'x'"}]}],"nbformat":4})";
  Put("a.ipynb", notebook);
  EXPECT_EQ(Read("a.ipynb"),
            "--- cell 1 (markdown) id=m1 ---\n# Title\ntext\n"
            "--- cell 2 (code) ---\nprint(1)\n"
            "--- output of cell 2 ---\n1\n"
            "--- picture 1 of cell 2 ---\n"
            "--- output of cell 2 ---\n<Figure>\n"
            "--- output of cell 2 ---\nKeyError: 'x'\n[image/png 6]");
  EXPECT_TRUE(Do("Read", {{"file_path", "a.ipynb"}, {"view", "text"}}).starts_with("1\t{\"cells"));
  Put("b.ipynb", "[]");
  EXPECT_EQ(Read("b.ipynb"),
            "E: read: b.ipynb: not a notebook: it has no list of cells\n"
            "view=text shows the file as it is");
}

TEST_F(ReadToolTest, TheDataSaysWhatTheTextSays) {
  Put("sub/a", Lines(1, 5));
  fs::create_symlink("sub/a", Root() + "/link");
  const ToolAnswer answer = Call("Read", {{"file_path", "link"}, {"limit", 2}});
  EXPECT_EQ(
      json::Write(answer.structured),
      R"({"path":"sub/a","kind":"text","bytes":35,"content":"line 1\nline 2\n",)"
      R"("first_line":1,"lines":2,"total_lines":5,"next_offset":3,"cut_bytes":0,"notes":[]})");
}

}  // namespace
}  // namespace polybox::tools

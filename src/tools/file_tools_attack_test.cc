// Attacks on the file tools: other processes rename, link and replace while a tool runs. Nothing
// outside the workspace may be read or changed.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <thread>
#include <unistd.h>

#include <sys/sysmacros.h>

#include "tools/testing/exchanging_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

using testing::Repeat;

class FileToolsAttackTest : public testing::ExchangingFixture {
 protected:
  FileToolsAttackTest() { fs::create_symlink(base_ + "/outside/secret", Root() + "/file_trap"); }
};

TEST_F(FileToolsAttackTest, ReadAndSearchNeverSeeWhatIsOutside) {
  // What a tool that opens the whole path would have seen.
  int seen_by_path = 0;
  int seen_inside = 0;
  WhileExchanging("dir", "trap", [&](int i) {
    const std::string path = i % 2 == 0 ? "dir" : "trap";
    const auto by_path = ReadFile(Root() + "/" + path + "/secret");
    seen_by_path += by_path.ok() && *by_path == "the secret\n" ? 1 : 0;
    for (const std::string& text : {Read(path + "/secret"), Do("Grep", {{"pattern", "."}}),
                                    Do("Grep", {{"pattern", "."}, {"path", path}}),
                                    Do("Grep", {{"pattern", "."}, {"path", path + "/secret"}})}) {
      ASSERT_EQ(text.find("the secret"), std::string::npos) << text;
      seen_inside += text.find("inside") == std::string::npos ? 0 : 1;
    }
  });
  EXPECT_GT(seen_by_path, 0);
  EXPECT_GT(seen_inside, 0);
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, GlobAndListNeverNameWhatIsOutside) {
  dir_.Write("elsewhere/only_outside", "");
  fs::create_directory_symlink(base_ + "/elsewhere", Root() + "/names_trap");
  int seen_by_path = 0;
  int seen_inside = 0;
  WhileExchanging("dir", "names_trap", [&](int i) {
    const std::string path = i % 2 == 0 ? "dir" : "names_trap";
    seen_by_path += fs::exists(Root() + "/" + path + "/only_outside") ? 1 : 0;
    for (const std::string& text :
         {Do("Glob", {{"pattern", "**"}}), Do("Glob", {{"pattern", "*"}, {"path", path}}),
          Do("List", {{"depth", 3}}), Do("List", {{"path", path}})}) {
      ASSERT_EQ(text.find("only_outside"), std::string::npos) << text;
      seen_inside += text.find("secret") == std::string::npos ? 0 : 1;
    }
  });
  EXPECT_GT(seen_by_path, 0);
  EXPECT_GT(seen_inside, 0);
}

TEST_F(FileToolsAttackTest, AFileThatBecomesALinkIsNotFollowed) {
  Put("file", "inside\n");
  WhileExchanging("file", "file_trap", [&](int) {
    const std::string text = Read("file");
    ASSERT_EQ(text.find("the secret"), std::string::npos) << text;
    Do("Edit", {{"file_path", "file"}, {"old_string", "secret"}, {"new_string", "x"}});
    Do("Write", {{"file_path", "file"}, {"content", "inside\n"}});
  });
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, WriteAndEditNeverChangeWhatIsOutside) {
  WhileExchanging("dir", "trap", [&](int i) {
    const std::string path = i % 2 == 0 ? "dir" : "trap";
    Read(path + "/secret");
    Do("Write", {{"file_path", path + "/secret"}, {"content", "inside\n"}});
    Do("Edit", {{"file_path", path + "/secret"}, {"old_string", "in"}, {"new_string", "in"}});
    Do("Write", {{"file_path", path + "/new" + std::to_string(i)}, {"content", "x"}});
    Do("Write", {{"file_path", path + "/deep" + std::to_string(i) + "/x"}, {"content", "x"}});
  });
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, MoveAndDeleteNeverChangeWhatIsOutside) {
  WhileExchanging("dir", "trap", [&](int i) {
    const std::string path = i % 2 == 0 ? "dir" : "trap";
    Do("Move", {{"source", path + "/secret"}, {"destination", "moved"}});
    Do("Move", {{"source", "moved"}, {"destination", path + "/secret"}});
    Do("Delete", {{"path", path + "/secret"}});
    Do("Write", {{"file_path", "dir/sub/x"}, {"content", "x"}});
    Do("Delete", {{"path", path + "/sub"}, {"recursive", true}});
  });
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, ATreeThatIsDeletedLeadsNowhereElse) {
  for (int i = 0; i < 20; ++i) Put("tree/" + std::to_string(i) + "/x", "");
  fs::create_directory_symlink(base_ + "/outside", Root() + "/bait");
  WhileExchanging("tree/7", "bait", [&](int i) {
    Do("Delete", {{"path", "tree/" + std::to_string(i % 20)}, {"recursive", true}});
    if (i % 20 == 19) {
      for (int n = 0; n < 20; ++n) {
        Do("Write", {{"file_path", "tree/" + std::to_string(n) + "/x"}, {"content", ""}});
      }
    }
  });
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, ADirectoryThatMovesUpwardsOpensNoWayOut) {
  fs::create_directories(Root() + "/x/y");
  fs::create_symlink("../../outside/secret", Root() + "/x/y/up");
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    const std::string deep = Root() + "/x/y";
    const std::string high = Root() + "/y";
    while (!done) {
      ::rename(deep.c_str(), high.c_str());
      ::rename(high.c_str(), deep.c_str());
    }
  });
  Repeat([&](int i) {
    const std::string path = i % 2 == 0 ? "x/y/up" : "y/up";
    ASSERT_EQ(Read(path).find("the secret"), std::string::npos);
    Do("Write", {{"file_path", path}, {"content", "overwritten"}});
  });
  done = true;
  attacker.join();
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, AFifoInPlaceOfAFileHoldsNobody) {
  Put("file", "inside\n");
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  WhileExchanging("file", "fifo", [&](int) {
    Read("file");
    Do("Grep", {{"pattern", "x"}});
    Do("Write", {{"file_path", "file"}, {"content", "inside\n"}});
  });
}

TEST_F(FileToolsAttackTest, AWayIntoAnotherWorkspaceIsOutside) {
  dir_.Write("other/theirs", "theirs\n");
  fs::create_symlink("../other/theirs", Root() + "/relative");
  fs::create_symlink(base_ + "/other", Root() + "/absolute");
  for (const char* path : {"relative", "absolute/theirs", "../other/theirs"}) {
    EXPECT_EQ(Read(path), "E: resolve path: path is outside workspace root");
  }
  EXPECT_EQ(Do("Grep", {{"pattern", "theirs"}}), "");
  EXPECT_EQ(Do("Move", {{"source", "dir"}, {"destination", base_ + "/other/dir"}}),
            "E: resolve path: path is outside workspace root");
}

/// A call of each tool with a path, and another of those that take two or search below a path.
std::vector<std::pair<std::string, json::Object>> CallsWith(const std::string& path) {
  return {{"Read", {{"file_path", path}}},
          {"Write", {{"file_path", path}, {"content", "x"}}},
          {"Edit", {{"file_path", path}, {"old_string", "the"}, {"new_string", "x"}}},
          {"Glob", {{"pattern", "*"}, {"path", path}}},
          {"Grep", {{"pattern", "."}, {"path", path}}},
          {"List", {{"path", path}}},
          {"Move", {{"source", path}, {"destination", "stolen"}}},
          {"Move", {{"source", "dir/secret"}, {"destination", path}}},
          {"Delete", {{"path", path}, {"recursive", true}}}};
}

TEST_F(FileToolsAttackTest, NoToolTakesAWayOut) {
  fs::create_symlink("/proc/self/root", Root() + "/magic");
  fs::create_symlink("/proc/self/cwd", Root() + "/here");
  fs::create_symlink("..", Root() + "/up");
  fs::create_symlink("dir/../../outside", Root() + "/crooked");
  const std::string outside = base_ + "/outside/secret";
  for (const std::string& path :
       {std::string("../outside/secret"), std::string("dir/../../outside/secret"), outside,
        Root() + "/../outside/secret", "//" + outside, std::string("trap/secret"),
        "magic" + outside, std::string("here/x"), std::string("up/outside/secret"),
        std::string("crooked/secret"), std::string("/etc/passwd"), std::string("/proc/self/mem"),
        Root() + "x/secret", std::string(".."), std::string("/")}) {
    for (const auto& [tool, arguments] : CallsWith(path)) {
      EXPECT_EQ(Do(tool, arguments), "E: resolve path: path is outside workspace root")
          << tool << " " << path;
    }
  }
  EXPECT_EQ(Content("dir/secret"), "inside\n");
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, ALinkToTheOutsideIsMovedAndDeletedItselfAndNeverFollowed) {
  for (const char* tool : {"Read", "Write", "Edit", "Glob", "Grep", "List"}) {
    for (const auto& [name, arguments] : CallsWith("file_trap")) {
      if (name != tool) continue;
      EXPECT_EQ(Do(name, arguments), "E: resolve path: path is outside workspace root") << name;
    }
  }
  EXPECT_EQ(Do("Move", {{"source", "file_trap"}, {"destination", "moved"}}),
            "moved file_trap to moved");
  EXPECT_TRUE(fs::is_symlink(Root() + "/moved"));
  EXPECT_EQ(Do("Delete", {{"path", "moved"}}), "deleted moved");
  EXPECT_EQ(Do("Delete", {{"path", "trap"}, {"recursive", true}}), "deleted trap");
  ExpectOutsideUntouched();
}

TEST_F(FileToolsAttackTest, NoToolWaitsForOrChangesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo((Root() + "/fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", Root() + "/link");
  for (const char* path : {"fifo", "link"}) {
    const std::string refusal =
        std::string("E: path is not a regular file: ") + path + " is a FIFO";
    EXPECT_EQ(Read(path), refusal);
    EXPECT_EQ(Do("Write", {{"file_path", path}, {"content", "x"}}), refusal);
    EXPECT_EQ(Do("Edit", {{"file_path", path}, {"old_string", "x"}, {"new_string", "y"}}), refusal);
    EXPECT_EQ(Do("Grep", {{"pattern", "x"}, {"path", path}}), refusal);
    EXPECT_EQ(Do("Glob", {{"pattern", "*"}, {"path", path}}),
              std::string("E: path is not a directory: ") + path);
    EXPECT_EQ(Do("List", {{"path", path}}), std::string("E: path is not a directory: ") + path);
  }
  EXPECT_EQ(Do("Glob", {{"pattern", "*"}}), "dir/secret");
  EXPECT_EQ(Do("Grep", {{"pattern", "."}}), "dir/secret:1:inside\n");
  EXPECT_EQ(Do("Move", {{"source", "fifo"}, {"destination", "pipe"}}), "moved fifo to pipe");
  EXPECT_EQ(Do("Delete", {{"path", "pipe"}}), "deleted pipe");
}

TEST_F(FileToolsAttackTest, DevicesAreNotOpened) {
  if (::mknod((Root() + "/zero").c_str(), S_IFCHR | 0600, ::makedev(1, 5)) != 0) {
    GTEST_SKIP() << "only root can make devices";
  }
  EXPECT_EQ(Read("zero"), "E: path is not a regular file: zero is a device");
  EXPECT_EQ(Do("Write", {{"file_path", "zero"}, {"content", "x"}}),
            "E: path is not a regular file: zero is a device");
  EXPECT_EQ(Do("Edit", {{"file_path", "zero"}, {"old_string", "x"}, {"new_string", "y"}}),
            "E: path is not a regular file: zero is a device");
  EXPECT_EQ(Do("Grep", {{"pattern", "x"}, {"path", "zero"}}),
            "E: path is not a regular file: zero is a device");
}

}  // namespace
}  // namespace polybox::tools

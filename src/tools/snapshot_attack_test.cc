// Attacks on the snapshot tools: other processes exchange directories and links while a snapshot is
// made or restored. Nothing outside of the workspace may be read, changed or removed.
#include <filesystem>

#include "tools/testing/exchanging_fixture.h"

namespace polybox::tools {
namespace {

namespace fs = std::filesystem;

using SnapshotAttackTest = testing::ExchangingFixture;

TEST_F(SnapshotAttackTest, NothingOutsideIsSaved) {
  // What a tool that opens the whole path would have seen.
  int seen_by_path = 0;
  Do("snapshot_create", {{"name", "base"}});
  WhileExchanging("dir", "trap", [&](int) {
    const auto by_path = ReadFile(Root() + "/dir/secret");
    seen_by_path += by_path.ok() && *by_path == "the secret\n" ? 1 : 0;
    const std::string text = Do("snapshot_diff", {{"name", "base"}});
    ASSERT_EQ(text.find("the secret"), std::string::npos) << text;
    Do("snapshot_create", {{"name", "raced"}, {"overwrite", true}});
  });
  EXPECT_GT(seen_by_path, 0);
  fs::remove_all(Root() + "/dir");
  fs::remove_all(Root() + "/trap");
  Do("snapshot_restore", {{"name", "raced"}});
  for (const char* name : {"dir", "trap"}) {
    // The link itself is restored, and nothing that it leads to.
    if (fs::is_symlink(Root() + "/" + name)) continue;
    EXPECT_NE(ReadFile(Root() + "/" + name + "/secret").value_or(""), "the secret\n") << name;
  }
  ExpectOutsideUntouched();
}

TEST_F(SnapshotAttackTest, NothingOutsideIsWrittenOrRemoved) {
  Do("snapshot_create", {{"name", "s"}});
  WhileExchanging("dir", "trap", [&](int i) {
    const std::string path = i % 2 == 0 ? "dir" : "trap";
    // Through the link the file would be made outside, so only the tools touch it there.
    Do("Write", {{"file_path", path + "/extra"}, {"content", "x"}});
    Do("snapshot_restore", {{"name", "s"}});
  });
  ExpectOutsideUntouched();
}

TEST_F(SnapshotAttackTest, NothingOutsideIsWrittenByWayOfTheRepository) {
  Put(".git/HEAD", "ref: refs/heads/main\n");
  Put(".git/refs/x", "");
  fs::create_directories(Root() + "/.git/objects");
  for (const char* part : {"refs", "objects"}) {
    fs::remove_all(Root() + "/.git/" + part);
    fs::create_directory_symlink(base_ + "/outside", Root() + "/.git/" + part);
    const std::string text = Do("snapshot_create", {{"name", "s"}, {"overwrite", true}});
    EXPECT_NE(text.find("(the repository has no ref"), std::string::npos) << text;
    fs::remove(Root() + "/.git/" + part);
    fs::create_directories(Root() + "/.git/" + part);
  }
  fs::create_directory_symlink(base_ + "/outside", Root() + "/.git/refs/sandbox");
  Do("snapshot_create", {{"name", "s"}, {"overwrite", true}});
  Do("snapshot_delete", {{"name", "s"}});
  ExpectOutsideUntouched();
}

}  // namespace
}  // namespace polybox::tools

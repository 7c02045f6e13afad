#include "workspace/put_file.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "workspace/workspace.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

class PutFileTest : public ::testing::Test {
 protected:
  PutFileTest() {
    auto workspace = Workspace::Open("w", dir_.path(), {});
    EXPECT_TRUE(workspace.ok());
    workspace_ = std::move(workspace).value();
  }

  Place At(const std::string& path) const {
    Result<Place> place = Resolve(workspace_->root(), path);
    EXPECT_TRUE(place.ok());
    return std::move(place).value();
  }
  Status Replace(const std::string& path, std::string_view content) const {
    const Place place = At(path);
    const Result<UniqueFd> file = OpenAt(place, O_RDONLY);
    EXPECT_TRUE(file.ok());
    return ReplaceContent(place, dir_.path() + "/" + path, file->get(), content);
  }
  std::string Content(const std::string& path) const {
    return ReadFile(dir_.path() + "/" + path).value_or("(none)");
  }
  struct stat State(const std::string& path) const {
    struct stat info{};
    EXPECT_EQ(::stat((dir_.path() + "/" + path).c_str(), &info), 0);
    return info;
  }
  std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(dir_.path()), {}));
  }

  TempDir dir_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(PutFileTest, ANewFileComesWithItsDirectories) {
  ASSERT_TRUE(CreateFile(At("a/b/c"), "x", "content").ok());
  EXPECT_EQ(Content("a/b/c"), "content");
  EXPECT_EQ(State("a/b/c").st_mode & 07777U, 0644U);
  EXPECT_EQ(State("a/b").st_mode & 07777U, 0755U);
  EXPECT_EQ(Entries(), 3U);
}

TEST_F(PutFileTest, ANewFileReplacesNothing) {
  const Place place = At("a");
  dir_.Write("a", "old");
  const Status made = CreateFile(place, "a", "new");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().system_errno(), EEXIST);
  EXPECT_EQ(Content("a"), "old");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(PutFileTest, ModeOwnerAndAttributesAreKept) {
  const std::string path = dir_.Write("a", "old");
  fs::permissions(path, fs::perms(0751));
  const bool attributes = ::setxattr(path.c_str(), "user.x", "1", 1, 0) == 0;
  const bool owner = ::geteuid() == 0 && ::chown(path.c_str(), 1234, 2345) == 0;
  const struct stat before = State("a");
  ASSERT_TRUE(Replace("a", "new").ok());
  const struct stat after = State("a");
  EXPECT_EQ(Content("a"), "new");
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  EXPECT_NE(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_uid == 1234U, owner);
  char value = 0;
  EXPECT_EQ(::getxattr(path.c_str(), "user.x", &value, 1) == 1, attributes);
}

TEST_F(PutFileTest, AnAccessListIsKept) {
  const std::string path = dir_.Write("a", "old");
  // Version 2; owner rw, user 1234 r, group none, mask r, others none.
  constexpr std::string_view kList(
      "\2\0\0\0"
      "\1\0\6\0\xff\xff\xff\xff"
      "\2\0\4\0\xd2\4\0\0"
      "\4\0\0\0\xff\xff\xff\xff"
      "\x10\0\4\0\xff\xff\xff\xff"
      "\x20\0\0\0\xff\xff\xff\xff",
      44);
  constexpr const char* kName = "system.posix_acl_access";
  if (::setxattr(path.c_str(), kName, kList.data(), kList.size(), 0) != 0) {
    GTEST_SKIP() << "this file system has no access lists";
  }
  ASSERT_TRUE(Replace("a", "new").ok());
  std::string after(100, '\0');
  const ssize_t size = ::getxattr(path.c_str(), kName, after.data(), after.size());
  EXPECT_EQ(Content("a"), "new");
  EXPECT_EQ(after.substr(0, size > 0 ? static_cast<std::size_t>(size) : 0), kList);
}

TEST_F(PutFileTest, ASetUidBitIsNotKept) {
  fs::permissions(dir_.Write("a", "old"), fs::perms(06755));
  ASSERT_TRUE(Replace("a", "new").ok());
  EXPECT_EQ(State("a").st_mode & 07777U, 0755U);
}

TEST_F(PutFileTest, AnotherHardLinkKeepsItsContent) {
  fs::create_hard_link(dir_.Write("a", "old"), dir_.path() + "/b");
  ASSERT_TRUE(Replace("a", "new").ok());
  EXPECT_EQ(Content("a"), "new");
  EXPECT_EQ(Content("b"), "old");
}

TEST_F(PutFileTest, AFullDiskLeavesEverythingAsItWas) {
  dir_.Write("a", "old");
  // A limit on the size of files fails in the same place as a full disk.
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string content(5000, 'x');
  const Status replaced = Replace("a", content);
  const Status made = CreateFile(At("b/c/d"), "/b/c/d", content);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().message(), "write: write " + dir_.path() + "/a: file too large");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message(), "write: write /b/c/d: file too large");
  EXPECT_EQ(Content("a"), "old");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(PutFileTest, AnEntryIsMovedButNeverOverAnother) {
  dir_.Write("a", "1");
  dir_.Write("b", "2");
  const Status refused = MoveEntry(At("a"), At("b").parent.get(), "b");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().system_errno(), EEXIST);
  EXPECT_TRUE(MoveEntry(At("a"), At("c").parent.get(), "c").ok());
  EXPECT_EQ(Content("c"), "1");
  EXPECT_EQ(Content("b"), "2");
}

TEST_F(PutFileTest, FilesOfAServerThatIsRootBelongToTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  const std::string secret = dir_.Write("secret", "of root");
  fs::permissions(secret, fs::perms(0600));
  ASSERT_EQ(::chown(dir_.path().c_str(), 1234, 2345), 0);
  {
    const Result<ActAsOwner> acting = ActAsOwner::Begin({.uid = 1234, .gid = 2345});
    ASSERT_TRUE(acting.ok()) << acting.error().message();
    ASSERT_TRUE(CreateFile(At("a/b"), "x", "content").ok());
    EXPECT_FALSE(OpenAt(At("secret"), O_RDONLY).ok());
  }
  EXPECT_EQ(State("a").st_uid, 1234U);
  EXPECT_EQ(State("a/b").st_uid, 1234U);
  EXPECT_EQ(State("a/b").st_gid, 2345U);
  EXPECT_TRUE(OpenAt(At("secret"), O_RDONLY).ok());
}

}  // namespace
}  // namespace polybox::workspace

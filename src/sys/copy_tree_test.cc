#include "sys/copy_tree.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace polybox::sys {
namespace {

namespace fs = std::filesystem;

Result<Copied> Copy(const std::string& from, const std::string& to, const CopyLimits& limits = {}) {
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return CopyGuestTree(source.get(), target.get(), limits);
}

TEST(CopyTree, FilesDirectoriesAndInnerLinksAreCopiedAndRightsAreNot) {
  const testing::TempDir from;
  const testing::TempDir to;
  from.Write("a/b/file", "content");
  from.WriteExecutable("bin/tool", "#!/bin/sh\n");
  fs::permissions(from.path() + "/bin/tool", fs::perms(06777));
  fs::create_symlink("../a/b/file", from.path() + "/bin/link");
  const auto copied = Copy(from.path(), to.path());
  ASSERT_TRUE(copied.ok()) << copied.error().message();
  EXPECT_EQ(copied->bytes, Bytes(17));
  EXPECT_EQ(copied->entries, 6U);
  EXPECT_EQ(ReadFile(to.path() + "/a/b/file").value_or(""), "content");
  EXPECT_EQ(ReadFile(to.path() + "/bin/link").value_or(""), "content");
  EXPECT_EQ(fs::status(to.path() + "/bin/tool").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(to.path() + "/a/b/file").permissions(), fs::perms(0644));
}

TEST(CopyTree, EntriesThatCouldLeadOutsideOrBlockUsAreRefused) {
  const std::pair<const char*, void (*)(const std::string&)> rows[] = {
      {"x: a link that leads outside",
       [](const std::string& at) { fs::create_symlink("/etc", at); }},
      {"x: a link that leads outside",
       [](const std::string& at) { fs::create_symlink("../y", at); }},
      {"x: neither a file, a directory nor a link",
       [](const std::string& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0644), 0); }},
      {"x: more than 10B in all",
       [](const std::string& at) {
         ASSERT_EQ(::close(::open(at.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), 0);
         fs::resize_file(at, 11);
       }},
      {"x/y/z: too deep", [](const std::string& at) { fs::create_directories(at + "/y/z"); }},
  };
  for (const auto& [message, make] : rows) {
    const testing::TempDir from;
    const testing::TempDir to;
    make(from.path() + "/x");
    CopyLimits limits;
    limits.bytes = Bytes(10);
    limits.depth = 2;
    const auto copied = Copy(from.path(), to.path(), limits);
    ASSERT_FALSE(copied.ok()) << message;
    EXPECT_EQ(copied.error().message(), message);
    EXPECT_EQ(copied.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(CopyTree, ALinkStaysInsideOrIsRefused) {
  for (const char* target : {"x", "./x", "a/b/c", "../x", "../../x", "x/./y", "../..", "."}) {
    EXPECT_TRUE(LinkStaysInside("a/b/link", target)) << target;
  }
  for (const char* target : {"", "/", "/x", "../../../x", "x/../../../..", "x/../y", "a/../..",
                             "../../..", ".././../../x"}) {
    EXPECT_FALSE(LinkStaysInside("a/b/link", target)) << target;
  }
  EXPECT_FALSE(LinkStaysInside("link", ".."));
}

}  // namespace
}  // namespace polybox::sys

#include "snapshots/git_object.h"

#include <gtest/gtest.h>

namespace polybox::snapshots {
namespace {

TEST(GitObject, HasTheNameThatGitGivesIt) {
  EXPECT_EQ(Hex(IdOf(ObjectType::kBlob, "")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(Hex(IdOf(ObjectType::kTree, "")), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  EXPECT_EQ(Hex(IdOf(ObjectType::kBlob, "hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(GitObject, NamesAreReadBack) {
  const ObjectId id = IdOf(ObjectType::kBlob, "x");
  EXPECT_EQ(ParseHex(Hex(id)), id);
  for (const char* wrong :
       {"", "ce01", "CE013625030ba8dba906f756967f9e9ca394464a",
        "ce013625030ba8dba906f756967f9e9ca394464a0", "ge013625030ba8dba906f756967f9e9ca394464a"}) {
    EXPECT_FALSE(ParseHex(wrong)) << wrong;
  }
}

TEST(GitObject, ContentSurvivesCompression) {
  for (const std::string& content :
       {std::string(), std::string("text\n"), std::string(300'000, 'a'), std::string(9, '\0')}) {
    const ObjectId id = IdOf(ObjectType::kBlob, content);
    const Result<std::string> back =
        Decompress(Compress(ObjectType::kBlob, content), ObjectType::kBlob, id, Bytes::MiB(1));
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(*back, content);
  }
}

TEST(GitObject, DamageIsNoticed) {
  const std::string content(1000, 'a');
  const std::string compressed = Compress(ObjectType::kBlob, content);
  const ObjectId id = IdOf(ObjectType::kBlob, content);
  const ObjectId other = IdOf(ObjectType::kBlob, "other");
  const std::string message = "the stored object " + Hex(id) + " is damaged";
  const auto fails = [&](const std::string& bytes, ObjectType type, const ObjectId& name,
                         Bytes largest) { return !Decompress(bytes, type, name, largest).ok(); };
  EXPECT_TRUE(fails(compressed, ObjectType::kTree, id, Bytes::MiB(1)));
  EXPECT_TRUE(fails(compressed, ObjectType::kBlob, other, Bytes::MiB(1)));
  EXPECT_TRUE(fails(compressed, ObjectType::kBlob, id, Bytes(100)));
  EXPECT_FALSE(fails(compressed, ObjectType::kBlob, id, Bytes(1000)));
  for (std::size_t size = 0; size < compressed.size(); ++size) {
    const auto cut = Decompress(compressed.substr(0, size), ObjectType::kBlob, id, Bytes::MiB(1));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().message(), message);
  }
  for (std::size_t i = 0; i < compressed.size(); ++i) {
    std::string changed = compressed;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const auto read = Decompress(changed, ObjectType::kBlob, id, Bytes::MiB(1));
    // A few bits of the format have no meaning.
    EXPECT_TRUE(!read.ok() || *read == content) << i;
  }
}

TEST(GitObject, ASmallFileThatExpandsWithoutEndIsRefused) {
  const std::string bomb(std::size_t{200} << 20U, '\0');
  const std::string compressed = Compress(ObjectType::kBlob, bomb);
  EXPECT_LT(compressed.size(), 2U << 20U);
  const auto read =
      Decompress(compressed, ObjectType::kBlob, IdOf(ObjectType::kBlob, bomb), Bytes::MiB(64));
  EXPECT_FALSE(read.ok());
}

TEST(GitObject, TreesSortDirectoriesAsIfTheyEndedWithASlash) {
  const std::string content = TreeContent({{EntryMode::kDirectory, "a", {}},
                                           {EntryMode::kFile, "a.b", {}},
                                           {EntryMode::kFile, "a0", {}}});
  const Result<std::vector<TreeEntry>> entries = ParseTree(content);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].name, "a.b");
  EXPECT_EQ((*entries)[1].name, "a");
  EXPECT_EQ((*entries)[2].name, "a0");
}

TEST(GitObject, TreesWithNamesThatLeadElsewhereAreRefused) {
  const auto tree = [](const std::string& start) {
    return start + std::string(1, '\0') + std::string(20, 'x');
  };
  EXPECT_TRUE(ParseTree(tree("100644 a\nb")).ok());
  for (const char* wrong : {"100644 ..", "100644 .", "100644 ", "100644 a/b", "100644 /etc",
                            "100644 .git", "160000 module", "100600 a", "x a", "100644"}) {
    EXPECT_FALSE(ParseTree(tree(wrong)).ok()) << wrong;
  }
  const std::string whole = tree("100644 a");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseTree(whole.substr(0, size)).ok()) << size;
  }
}

TEST(GitObject, CommitsAreReadBack) {
  const Commit commit = {
      .tree = IdOf(ObjectType::kTree, ""), .time = 1700000000, .message = "a > b"};
  const Result<Commit> read = ParseCommit(CommitContent(commit));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->tree, commit.tree);
  EXPECT_EQ(read->time, commit.time);
  EXPECT_EQ(read->message, commit.message);
  EXPECT_FALSE(ParseCommit("tree x\n").ok());
  EXPECT_FALSE(ParseCommit("").ok());
}

}  // namespace
}  // namespace polybox::snapshots

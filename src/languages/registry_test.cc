#include "languages/registry.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "languages/testing/sample.h"

namespace polybox::languages {
namespace {

using polybox::testing::TempDir;
using testing::SampleFile;

/// Loads the directories and returns the error text, "" when there is none.
std::string Complaints(const std::vector<std::string>& directories) {
  const Result<Registry> registry = Registry::Load({}, directories);
  return registry.ok() ? "" : registry.error().message();
}

TEST(Registry, ADirectoryAddsLanguagesAndALaterOneReplacesThem) {
  const std::string embedded_text = SampleFile("one");
  const EmbeddedFile builtin[] = {{"one.toml", embedded_text}};
  const TempDir first;
  const TempDir second;
  first.Write("two.toml", SampleFile("two"));
  first.Write("notes.txt", "not a language");
  second.Write("other-name.toml", SampleFile("one", "aliases = [\"uno\"]"));
  const auto registry = Registry::Load(builtin, {first.path(), second.path()});
  ASSERT_TRUE(registry.ok()) << registry.error().message();
  ASSERT_EQ(registry->all().size(), 2U);
  EXPECT_EQ(registry->all()[0].id, "one");
  EXPECT_EQ(registry->Find("uno")->file, second.path() + "/other-name.toml");
  EXPECT_EQ(registry->Find("TWO")->id, "two");
  EXPECT_EQ(registry->Find("three"), nullptr);
}

TEST(Registry, DefaultsOfADirectoryHoldForEveryLanguage) {
  const std::string embedded_text = SampleFile("one");
  const std::string defaults_text = "[run.limits]\nmemory = \"1MiB\"\nstack = \"8MiB\"\n";
  const EmbeddedFile builtin[] = {{"defaults.toml", defaults_text}, {"one.toml", embedded_text}};
  const TempDir dir;
  dir.Write("defaults.toml", "[run.limits]\nmemory = \"2MiB\"\n");
  const auto registry = Registry::Load(builtin, {dir.path()});
  ASSERT_TRUE(registry.ok()) << registry.error().message();
  EXPECT_EQ(registry->Find("one")->run.limits.memory, Bytes::MiB(2));
  EXPECT_EQ(registry->Find("one")->run.limits.stack, Bytes::MiB(8));
}

constexpr const char* kNamesAFile = "[warm]\npreload_check = \"{file:check.smp}\"\n";

TEST(Registry, ALanguageFileMayNameFilesOfTheFolderBesideIt) {
  const TempDir dir;
  dir.Write("one.toml", SampleFile("one") + kNamesAFile);
  dir.Write("one/check.smp", "a program");
  const auto registry = Registry::Load({}, {dir.path()});
  ASSERT_TRUE(registry.ok()) << registry.error().message();
  const Language* one = registry->Find("one");
  EXPECT_EQ(one->warm.preload_check, "a program");
  EXPECT_NE(one->text.find("a program"), std::string::npos) << "caches go by the text";
}

TEST(Registry, AFileThatAFolderLacksIsTheBuiltinOne) {
  const std::string text = SampleFile("one") + kNamesAFile;
  const EmbeddedFile builtin[] = {{"one.toml", text}, {"one/check.smp", "built in"}};
  const TempDir dir;
  dir.Write("one.toml", text);
  const auto copied = Registry::Load(builtin, {dir.path()});
  ASSERT_TRUE(copied.ok()) << copied.error().message();
  EXPECT_EQ(copied->Find("one")->warm.preload_check, "built in");
  dir.Write("one/check.smp", "changed");
  const auto changed = Registry::Load(builtin, {dir.path()});
  EXPECT_EQ(changed->Find("one")->warm.preload_check, "changed");
}

TEST(Registry, AFileThatIsNowhereIsNamedWithTheLineThatNamesIt) {
  const TempDir dir;
  const std::string one = dir.Write("one.toml", SampleFile("one") + kNamesAFile);
  const std::string complaint = Complaints({dir.path()});
  EXPECT_EQ(complaint.substr(0, one.size() + 1), one + ":") << complaint;
  EXPECT_NE(complaint.find("\"{file:check.smp}\": there is no file one/check.smp"),
            std::string::npos)
      << complaint;
}

TEST(Registry, ADuplicateIdWithinOneDirectoryIsRefused) {
  const TempDir dir;
  const std::string a = dir.Write("a.toml", SampleFile("same"));
  const std::string b = dir.Write("b.toml", SampleFile("same"));
  EXPECT_EQ(Complaints({dir.path()}), b + ":1: id = \"same\": " + a + " has the same id");
}

TEST(Registry, ACycleOfAliasesIsRefused) {
  const TempDir dir;
  const std::string a = dir.Write("a.toml", SampleFile("aa", "aliases = [\"x\", \"bb\"]"));
  const std::string b = dir.Write("b.toml", SampleFile("bb", "aliases = [\"cc\"]"));
  const std::string c = dir.Write("c.toml", SampleFile("cc", "aliases = [\"aa\"]"));
  EXPECT_EQ(Complaints({dir.path()}),
            a + ":4: aliases = \"bb\": a cycle of aliases: aa -> bb -> cc -> aa\n" +  //
                b + ":4: aliases = \"cc\": a cycle of aliases: bb -> cc -> aa -> bb\n" + c +
                ":4: aliases = \"aa\": a cycle of aliases: cc -> aa -> bb -> cc");
}

TEST(Registry, ALanguageThatIsItsOwnAliasIsACycle) {
  const TempDir dir;
  const std::string a = dir.Write("a.toml", SampleFile("aa", "aliases = [\"aa\"]"));
  EXPECT_EQ(Complaints({dir.path()}), a + ":4: aliases = \"aa\": a cycle of aliases: aa -> aa");
}

TEST(Registry, AnAliasMustNotBeTakenAlready) {
  const TempDir dir;
  const std::string a = dir.Write("a.toml", SampleFile("aa", "aliases = [\"bb\"]"));
  const std::string b = dir.Write("b.toml", SampleFile("bb", "aliases = [\"x\"]"));
  const std::string c = dir.Write("c.toml", SampleFile("cc", "aliases = [\"x\"]"));
  EXPECT_EQ(Complaints({dir.path()}),
            a + ":4: aliases = \"bb\": that is the id of the language in " + b + "\n" + c +
                ":4: aliases = \"x\": " + b + " has the same alias");
}

TEST(Registry, AllBadFilesAreReportedAtOnce) {
  const TempDir dir;
  dir.Write("a.toml", "id = 1\n");
  dir.Write("b.toml", "nonsense\n");
  const std::string complaints = Complaints({dir.path()});
  EXPECT_NE(complaints.find("a.toml:1: id = 1"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("b.toml:1: "), std::string::npos) << complaints;
}

TEST(Registry, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_EQ(Complaints({"/no/such/dir"}),
            "read languages directory /no/such/dir: No such file or directory");
}

}  // namespace
}  // namespace polybox::languages

#include "http/doors/shell_words.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

/// The result of Python's shlex.split for each text.
struct Case {
  std::string text;
  std::vector<std::string> words;
  std::string error;
};

TEST(ShellWords, AreSplitAsPythonSplitsThem) {
  const std::vector<Case> cases = {
      {"", {}, ""},
      {"echo 'hello world'", {"echo", "hello world"}, ""},
      {"sh -c 'a | b; c > \"$D\"'", {"sh", "-c", "a | b; c > \"$D\""}, ""},
      {"a '' \"\"", {"a", "", ""}, ""},
      {"a\\\nb", {"a\nb"}, ""},
      {"\"a\\\nb\"", {"a\\\nb"}, ""},
      {"a # b", {"a", "#", "b"}, ""},
      {"a\vb\fc", {"a\vb\fc"}, ""},
      {"$# \\", {}, "No escaped character"},
      {"$b$a\t\"#'", {}, "No closing quotation"},
      {"\t##\t", {"##"}, ""},
      {" ' #\nab", {}, "No closing quotation"},
      {"$a\"", {}, "No closing quotation"},
      {"\n\n$\t \\b", {"$", "b"}, ""},
      {" ", {}, ""},
      {"$'\\a\"$ ", {}, "No closing quotation"},
      {"b\\b\n a\"\n", {}, "No closing quotation"},
      {"ba$$a\n$", {"ba$$a", "$"}, ""},
      {"#\"#'a\"", {"##'a"}, ""},
      {"'", {}, "No closing quotation"},
      {"$\" a\\", {}, "No escaped character"},
      {"\"\n\"#", {"\n#"}, ""},
      {"$\"\ta$a", {}, "No closing quotation"},
      {"'\\ \nb", {}, "No closing quotation"},
      {"$\\", {}, "No escaped character"},
      {"#", {"#"}, ""},
      {"\t", {}, ""},
      {"$ b' '", {"$", "b "}, ""},
      {" $\\'", {"$'"}, ""},
      {"\t", {}, ""},
      {"b#\\\\\t", {"b#\\"}, ""},
      {"bb# \\$\n#", {"bb#", "$", "#"}, ""},
      {"\\b\"\"\na ", {"b", "a"}, ""},
      {"\\#$\"\t#\"", {"#$\t#"}, ""},
      {"a$'ab'\t ", {"a$ab"}, ""},
      {"# a b$ ", {"#", "a", "b$"}, ""},
      {"a\\'\n\tb", {"a'", "b"}, ""},
      {"\"", {}, "No closing quotation"},
      {"\tb' \t\"\n", {}, "No closing quotation"},
      {" \n\"\t\t#", {}, "No closing quotation"},
      {"#a ", {"#a"}, ""},
      {"'", {}, "No closing quotation"},
      {"\t\t\"\"\t\"", {}, "No closing quotation"},
      {"#\"a \n\"\n", {"#a \n"}, ""},
      {"\t'", {}, "No closing quotation"},
      {"a\"", {}, "No closing quotation"},
      {"\n\"", {}, "No closing quotation"},
      {"\"\"##a '\t", {}, "No closing quotation"},
      {" a#", {"a#"}, ""},
      {"$b'a\\ ", {}, "No closing quotation"},
      {"$\\$\\\\\"", {}, "No closing quotation"},
      {"a'\n\n'", {"a\n\n"}, ""},
      {"\n$'\\'\n", {"$\\"}, ""},
      {"'\t' b", {"\t", "b"}, ""},
      {"\t''\\", {}, "No escaped character"},
      {"\\ \"$#", {}, "No closing quotation"},
      {"\\b\\  a\t\"", {}, "No closing quotation"},
      {"\" ab\"\n a", {" ab", "a"}, ""},
      {"\"$", {}, "No closing quotation"},
      {"'\\#", {}, "No closing quotation"},
      {"b", {"b"}, ""},
      {"#\"a\t\t\t", {}, "No closing quotation"},
      {" b#\t\\\ta", {"b#", "\ta"}, ""},
      {"\\\\\"$ '\\", {}, "No escaped character"},
      {"\\$\nb\t", {"$", "b"}, ""},
      {"$\\\na", {"$\na"}, ""},
      {" \n", {}, ""},
      {"b  #", {"b", "#"}, ""},
  };
  for (const Case& c : cases) {
    const auto words = SplitShellWords(c.text);
    if (c.error.empty()) {
      ASSERT_TRUE(words.ok()) << c.text;
      EXPECT_EQ(*words, c.words) << c.text;
    } else {
      ASSERT_FALSE(words.ok()) << c.text;
      EXPECT_EQ(words.error().message(), c.error) << c.text;
    }
  }
}

}  // namespace
}  // namespace polybox::http

#include "http/doors/unknown_members.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

using Texts = std::vector<std::string>;
const std::vector<std::string_view> kKnown = {"code", "language", "files"};

TEST(UnknownMembers, AMemberIsNamedWithTheNearestKnownOne) {
  UnknownMembers members;
  members.Add("", "langauge", kKnown);
  members.Add("", "LANGAUGE", kKnown);
  members.Add("files[3]", "x", kKnown);
  EXPECT_EQ(members.Warnings(), (Texts{R"(unknown member "langauge"; did you mean "language"?)",
                                       R"(unknown member "LANGAUGE"; did you mean "language"?)",
                                       R"(unknown member "files[3].x")"}));
}

TEST(UnknownMembers, NamesAreEscapedAndShortened) {
  UnknownMembers members;
  members.Add("", "a\x1b[31m\"\n", kKnown);
  members.Add("", std::string(1000000, 'x'), kKnown);
  const Texts warnings = members.Warnings();
  EXPECT_EQ(warnings[0], R"(unknown member "a\u001b[31m\"\n")");
  EXPECT_LT(warnings[1].size(), 200U);
}

TEST(UnknownMembers, TheirNumberIsBounded) {
  UnknownMembers members;
  for (int i = 0; i < 100000; ++i) members.Add("", "zzz", kKnown);
  const Texts warnings = members.Warnings();
  ASSERT_EQ(warnings.size(), 11U);
  EXPECT_EQ(warnings.back(), "99990 more unknown members");
}

}  // namespace
}  // namespace polybox::http

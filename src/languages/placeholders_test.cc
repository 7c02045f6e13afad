#include "languages/placeholders.h"

#include <gtest/gtest.h>

namespace polybox::languages {
namespace {

TEST(Placeholders, KnownOnesAreReplacedAndAllElseIsText) {
  const Placeholders values = {{"root", "/usr"}, {"entry", "a.py"}};
  EXPECT_EQ(Expand("{root}/bin:{root}", values), "/usr/bin:/usr");
  EXPECT_EQ(Expand("{entry}", values), "a.py");
  EXPECT_EQ(Expand("{target}", values), "{target}");
  EXPECT_EQ(Expand("{\"a\": {}} ${HOME} {Root} {", values), "{\"a\": {}} ${HOME} {Root} {");
  EXPECT_EQ(Expand("", values), "");
}

TEST(Placeholders, AValueIsNotExpandedAgain) {
  EXPECT_EQ(Expand("{root}", {{"root", "{entry}"}, {"entry", "x"}}), "{entry}");
}

TEST(Placeholders, UnknownOnesAreFound) {
  EXPECT_EQ(UnknownPlaceholder("{root}/{roof}"), "roof");
  EXPECT_EQ(UnknownPlaceholder("{root} {} {A} {\"x\"}"), std::nullopt);
}

}  // namespace
}  // namespace polybox::languages

#include "packages/importable.h"

#include <gtest/gtest.h>

namespace polybox::packages {
namespace {

TEST(Importable, LinesThatAreNoAnswerArePassedOver) {
  const ImportableAnswer answer = ParseImportable(
      "a warning\nfrom /usr/lib/python3/dist-packages\npackage pandas\npackage numpy\n"
      "package pandas\npackage \npackage " +
      std::string(300, 'x') + "\npackage last");
  EXPECT_EQ(answer.directories, (std::vector<std::string>{"/usr/lib/python3/dist-packages"}));
  EXPECT_EQ(answer.packages, (std::vector<std::string>{"last", "numpy", "pandas"}));
  EXPECT_TRUE(ParseImportable("").packages.empty());
}

}  // namespace
}  // namespace polybox::packages

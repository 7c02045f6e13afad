#include "machine/named_files.h"

#include <gtest/gtest.h>

namespace polybox::machine {
namespace {

using Kind = GitConfigPath::Kind;

struct ConfigCase {
  const char* text;
  std::vector<GitConfigPath> paths;
};

TEST(NamedFiles, PathsOfAGitConfigurationAreFoundInEverySpelling) {
  const ConfigCase cases[] = {
      {"", {}},
      {"[core]\n\thooksPath = hooks\n", {{Kind::kHooks, "hooks"}}},
      {"[CORE]\nHOOKSPATH=a b # why\n", {{Kind::kHooks, "a b"}}},
      {"[core] hooksPath = \"a;b\" ; why\n", {{Kind::kHooks, "a;b"}}},
      {"[core]\nhooksPath = a\\\\b\\\"c", {{Kind::kHooks, "a\\b\"c"}}},
      {"[core]\nattributesFile = .attributes\r\n", {{Kind::kHooks, ".attributes"}}},
      {"[include]\npath=a\npath=b\n", {{Kind::kInclude, "a"}, {Kind::kInclude, "b"}}},
      {"[includeIf \"gitdir:~/x/\"]\n path = c\n", {{Kind::kInclude, "c"}}},
      {"[includeIf \"gitdir:[x]\"]\n path = c\n", {{Kind::kInclude, "c"}}},
      {"[user]\nhooksPath = hooks\n[remote \"core\"]\nhooksPath=x\n", {}},
      {"[core\nhooksPath = hooks\n# hooksPath = x\nbare\n", {}},
  };
  for (const ConfigCase& each : cases) {
    EXPECT_EQ(PathsInGitConfig(each.text), each.paths) << each.text;
  }
}

}  // namespace
}  // namespace polybox::machine

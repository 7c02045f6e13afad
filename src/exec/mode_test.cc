#include "exec/mode.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "languages/builtin.h"
#include "languages/registry.h"

namespace polybox::exec {
namespace {

const std::vector<languages::Language>& Builtin() {
  static const languages::Registry registry =
      languages::Registry::Load(languages::BuiltinFiles(), {}).value();
  return registry.all();
}

/// Returns the mode that is chosen with these programs on PATH, or the error.
std::string Choose(std::string_view wanted, const std::vector<std::string>& programs,
                   const languages::Toolchains& toolchains = {}) {
  const testing::TempDir path;
  for (const std::string& program : programs) path.WriteExecutable(program, "#!/bin/sh\n");
  const auto chosen = ChooseMode(wanted, ModeCandidates(Builtin(), toolchains, path.path()));
  return chosen.ok() ? chosen->mode + " is " + chosen->language : chosen.error().message();
}

TEST(Mode, IsChosenByNameOrByWhatIsThereAndWrongOnesAreNamed) {
  struct Case {
    std::string wanted;
    std::vector<std::string> programs;
    std::string chosen;
  };
  const std::vector<std::string> all = {"python3", "go", "node", "bash"};
  const std::vector<Case> cases = {
      {"", all, "python is python"},
      {"", {"python3"}, "python is python"},
      {"", {"go"}, "golang is go"},
      {"", {"node"}, "node is node"},
      {"", {"bash"}, "shell is bash"},
      {"", {"bash", "node"}, "node is node"},
      {"", {"node", "go"}, "golang is go"},
      {"",
       {"ruby", "python"},
       "no supported runtime found in PATH (tried: python3, go, node, bash)"},
      {"", {}, "no supported runtime found in PATH (tried: python3, go, node, bash)"},
      {"python", all, "python is python"},
      {"golang", all, "golang is go"},
      {"node", all, "node is node"},
      {"shell", all, "shell is bash"},
      {"golang", {"python3"}, "mode=golang but \"go\" not found in PATH"},
      {"python", {"python"}, "mode=python but \"python3\" not found in PATH"},
      {"node", {}, "mode=node but \"node\" not found in PATH"},
      {"shell", {}, "mode=shell but \"bash\" not found in PATH"},
      {"go", all, "unsupported mode \"go\" (supported: python, golang, node, shell)"},
      {"Python", all, "unsupported mode \"Python\" (supported: python, golang, node, shell)"},
      {"ruby", {}, "unsupported mode \"ruby\" (supported: python, golang, node, shell)"},
  };
  for (const Case& c : cases) EXPECT_EQ(Choose(c.wanted, c.programs), c.chosen) << c.wanted;
}

TEST(Mode, ARuntimeThatDoesNotRunHereIsPassedOverOrNamed) {
  const languages::Toolchains toolchains = {
      {"python", Error(ErrorKind::kUnavailable, "version 2.7 is too old")}};
  EXPECT_EQ(Choose("", {"python3", "bash"}, toolchains), "shell is bash");
  EXPECT_EQ(Choose("python", {"python3"}, toolchains), "mode=python: version 2.7 is too old");
}

}  // namespace
}  // namespace polybox::exec

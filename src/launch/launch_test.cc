#include "launch/launch.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "languages/builtin.h"
#include "languages/registry.h"

namespace polybox::launch {
namespace {

const languages::Registry& Builtin() {
  static const languages::Registry registry =
      languages::Registry::Load(languages::BuiltinFiles(), {}).value();
  return registry;
}

/// A toolchain that does not depend on the machine.
languages::Toolchain SampleToolchain() {
  return {.binary = "/shims/tool",
          .executable = "/opt/tool/1.2/bin/tool",
          .roots = {"/opt/tool/1.2"},
          .version = "tool 1.2.3"};
}

std::string DescribeStep(const Installation& installation, const char* name,
                         const languages::Step& step, const LaunchInput& program) {
  const auto request = RequestFor(installation, step, program);
  if (!request.ok()) return request.error().message();
  const jail::RunLimits& limits = request->limits;
  return fmt::format(
      "  {}: {}\n    env {}\n    wall {} memory {} address space {} processes {} files {}\n", name,
      fmt::join(request->argv, " "), fmt::join(request->env, " "), FormatDuration(limits.wall_time),
      FormatBytes(limits.memory), FormatBytes(limits.address_space), limits.processes,
      limits.open_files);
}

/// Returns the commands of every language as text.
std::string DescribeAll() {
  const languages::Toolchain toolchain = SampleToolchain();
  std::string text;
  for (const languages::Language& language : Builtin().all()) {
    const Installation installation{language, toolchain, ""};
    const LaunchInput program{{{language.entry.file, "code", 0644}}, {"one"}};
    text += language.id + "\n";
    if (language.compile) text += DescribeStep(installation, "compile", *language.compile, program);
    text += DescribeStep(installation, "run", language.run, program);
  }
  return text;
}

TEST(Launch, TheCommandsOfEachLanguageAreAsRecorded) {
  const std::string file = POLYBOX_SOURCE_DIR "/src/launch/testdata/launch.golden";
  const std::string now = DescribeAll();
  if (std::getenv("POLYBOX_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(ReplaceFile(file, now).ok());
  }
  EXPECT_EQ(ReadFile(file).value_or(""), now)
      << "if this is meant: POLYBOX_WRITE_GOLDEN=1 launch_test, and look at the difference";
}

TEST(Launch, TheEntryHasTheNameItsRuleDemands) {
  const languages::Toolchain toolchain = SampleToolchain();
  const auto first_name = [&](const char* language, const char* given) {
    const Installation installation{*Builtin().Find(language), toolchain, ""};
    return FilesFor(installation, {{{given, "", 0644}}, {}})->at(0).name;
  };
  EXPECT_EQ(first_name("python", "mine.py"), "mine.py");
  EXPECT_EQ(first_name("rust", "mine.rs"), "main.rs");
  EXPECT_EQ(first_name("java", "mine.java"), "mine.java");
}

TEST(Launch, DefaultFilesAreAddedUnlessBroughtAndRestrictedOnesRefused) {
  const languages::Toolchain toolchain = SampleToolchain();
  const Installation go{*Builtin().Find("go"), toolchain, ""};
  const auto files = FilesFor(go, {{{"a.go", "package main", 0644}}, {}});
  ASSERT_TRUE(files.ok());
  const auto mod = std::ranges::find(*files, "go.mod", &jail::InputFile::name);
  ASSERT_NE(mod, files->end());
  EXPECT_NE(mod->content.find("go 1.2.3"), std::string::npos) << "the version is filled in";
  const auto refused = FilesFor(go, {{{"a.go", "", 0644}, {"go.mod", "", 0644}}, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "\"go.mod\" is not allowed for Go");
}

TEST(Launch, OnlyAGuestThatMayReachSomeoneIsToldOfTheProxy) {
  const languages::Toolchain toolchain = SampleToolchain();
  Installation installation{*Builtin().Find("python"), toolchain, ""};
  const auto env = [&] {
    return RequestFor(installation, installation.language.run, {{{"a.py", "", 0644}}, {}})->env;
  };
  EXPECT_FALSE(SpecFor(installation, jail::Grade::kFull).egress);
  EXPECT_EQ(std::ranges::count(env(), "HTTPS_PROXY=http://127.0.0.1:3128"), 0);
  installation.egress = true;
  EXPECT_TRUE(SpecFor(installation, jail::Grade::kFull).egress);
  for (const char* variable :
       {"HTTPS_PROXY=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128",
        "HTTP_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128",
        "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1"}) {
    EXPECT_EQ(std::ranges::count(env(), variable), 1) << variable;
  }
}

TEST(Launch, ACompileStepIsNotToldOfTheProxy) {
  const languages::Toolchain toolchain = SampleToolchain();
  Installation go{*Builtin().Find("go"), toolchain, ""};
  go.egress = true;
  const auto compile = RequestFor(go, *go.language.compile, {{{"a.go", "", 0644}}, {}});
  ASSERT_TRUE(compile.ok());
  for (const std::string& variable : compile->env) {
    EXPECT_EQ(variable.find("PROXY="), variable.find("GOPROXY=") == 0 ? 2U : std::string::npos)
        << variable;
  }
}

TEST(Launch, AProgramsOwnPackagesTakeThePlaceOfTheSet) {
  const languages::Toolchain toolchain = SampleToolchain();
  const Installation node{*Builtin().Find("node"), toolchain, "/var/sets/node"};
  const auto files =
      FilesFor(node, {{{"a.js", "", 0644}, {"node_modules/mine/index.js", "", 0644}}, {}});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(std::ranges::count(*files, "node_modules", &jail::InputFile::name), 0);
}

TEST(Launch, ASetThatARequestAskedForBringsItsOwnFilesAndEnvironment) {
  const testing::TempDir set;
  set.Write("go.mod", "module sandbox\n\nrequire a.example/b v1.0.0\n");
  const languages::Toolchain toolchain = SampleToolchain();
  Installation go{*Builtin().Find("go"), toolchain, set.path()};
  const LaunchInput program{{{"script.go", "", 0644}}, {}};
  const auto content = [&](const char* name) {
    const auto files = FilesFor(go, program).value();
    return std::ranges::find(files, name, &jail::InputFile::name)->content;
  };
  const auto variable = [&](const std::string& entry) {
    return std::ranges::count(RequestFor(go, *go.language.compile, program)->env, entry);
  };
  EXPECT_NE(content("go.mod").find("golang.org/x/text"), std::string::npos);
  EXPECT_EQ(variable("GOCACHE=/packages/build"), 1);
  EXPECT_EQ(variable("GOFLAGS=-mod=mod"), 0);
  go.requested = true;
  EXPECT_EQ(content("go.mod"), "module sandbox\n\nrequire a.example/b v1.0.0\n");
  EXPECT_NE(content("go.sum"), "") << "what the set lacks is as it always was";
  EXPECT_EQ(variable("GOCACHE=/tmp/go-build"), 1);
  EXPECT_EQ(variable("GOMODCACHE=/packages/mod"), 1);
  EXPECT_EQ(variable("GOFLAGS=-mod=mod"), 1);
  go.preinstalled = "/var/sets/go";
  EXPECT_EQ(variable("GOCACHE=/preinstalled/build"), 1);
  EXPECT_EQ(variable("GOMODCACHE=/packages/mod"), 1);
  EXPECT_EQ(SpecFor(go, jail::Grade::kFull).trees.back(),
            (jail::Tree{"/var/sets/go", "/preinstalled", false}));
}

TEST(Launch, APackageSetIsShownAndLinked) {
  const languages::Toolchain toolchain = SampleToolchain();
  const Installation node{*Builtin().Find("node"), toolchain, "/var/sets/node"};
  const auto files = FilesFor(node, {{{"a.js", "", 0644}}, {}});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->back().name, "node_modules");
  EXPECT_EQ(files->back().content, "/packages/node_modules");
  EXPECT_TRUE(S_ISLNK(files->back().mode));
  const jail::Spec spec = SpecFor(node, jail::Grade::kFull);
  EXPECT_EQ(spec.trees.back(), (jail::Tree{"/var/sets/node", "/packages", false}));
}

TEST(Launch, WithoutNamespacesAllPathsAreThoseOfTheSlot) {
  const languages::Toolchain toolchain = SampleToolchain();
  const jail::Places places = {"/home/x/sandbox", "/home/x/tmp", "/var/sets/node"};
  const Installation node{*Builtin().Find("node"), toolchain, "/var/sets/node", places};
  const LaunchInput program{{{"a.js", "", 0644}}, {}};
  EXPECT_EQ(FilesFor(node, program)->back().content, "/var/sets/node/node_modules");
  const auto request = RequestFor(node, node.language.run, program);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->directory, "/home/x/sandbox");
  EXPECT_EQ(request->argv.back(), "/home/x/sandbox/a.js");
  const auto has = [&](const char* text) { return std::ranges::count(request->env, text) == 1; };
  EXPECT_TRUE(has("HOME=/home/x/sandbox"));
  EXPECT_TRUE(has("TMPDIR=/home/x/tmp"));
  const Installation go{*Builtin().Find("go"), toolchain, "", places};
  const auto compile = RequestFor(go, *go.language.compile, program);
  ASSERT_TRUE(compile.ok());
  EXPECT_EQ(std::ranges::count(compile->env, "GOCACHE=/home/x/tmp/go-build"), 1);
}

TEST(Launch, NoLanguageFileNamesAPlaceThatOnlyNamespacesGive) {
  const languages::Toolchain toolchain = SampleToolchain();
  const jail::Places places = {"/home/x/sandbox", "/home/x/tmp", "/home/x/packages"};
  for (const languages::Language& language : Builtin().all()) {
    const Installation installation{language, toolchain, "", places};
    const LaunchInput program{{{language.entry.file, "code", 0644}}, {}};
    std::string text = DescribeStep(installation, "run", language.run, program);
    if (language.compile) text += DescribeStep(installation, "", *language.compile, program);
    for (const char* place : {" /tmp", "=/tmp", " /sandbox", "=/sandbox", "=/packages"}) {
      EXPECT_EQ(text.find(place), std::string::npos) << language.id << ": " << text;
    }
  }
}

}  // namespace
}  // namespace polybox::launch

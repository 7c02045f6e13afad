#include "compile/compile_key.h"

#include <functional>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "limits/testing/with_number.h"

namespace polybox::compile {
namespace {

/// Everything that a compile step sees. The tests change one part at a time.
struct Seen {
  testing::TempDir host;
  languages::Language language;
  languages::Toolchain toolchain;
  std::vector<jail::InputFile> files = {{"main.c", "int main() {}", 0644},
                                        {"a.h", "#define A 1", 0644}};
  jail::RunRequest request;
  std::string packages;
  jail::Grade grade = jail::Grade::kFull;

  Seen() {
    language.id = "c";
    language.text = "id = \"c\"";
    language.compile.emplace();
    toolchain = {.binary = "gcc",
                 .executable = host.Write("gcc", "compiler"),
                 .roots = {"/usr"},
                 .version = "gcc 12"};
    request.argv = {toolchain.executable, "-O2", "main.c"};
    request.env = {"PATH=/usr/bin", "HOME=/sandbox"};
    packages = host.path();
  }

  std::string Key() const {
    return CompileKey({{language, toolchain, packages}, files, request, grade}).value_or("");
  }
};

struct Change {
  const char* what;
  std::function<void(Seen&)> make;
};

const std::vector<Change> kChanges = {
    {"a source", [](Seen& s) { s.files[0].content += " "; }},
    {"a header", [](Seen& s) { s.files[1].content = "#define A 2"; }},
    {"a name", [](Seen& s) { s.files[1].name = "b.h"; }},
    {"a mode", [](Seen& s) { s.files[1].mode = 0755; }},
    {"one file less", [](Seen& s) { s.files.pop_back(); }},
    {"an empty file more", [](Seen& s) { s.files.push_back({"c.h", "", 0644}); }},
    {"a directory more", [](Seen& s) { s.files.push_back({"out", "", S_IFDIR | 0755}); }},
    {"the order of the files", [](Seen& s) { std::swap(s.files[0], s.files[1]); }},
    {"the end of one file in the next",
     [](Seen& s) {
       s.files[0].content = "int main() {}a.h";
       s.files[1].name = "";
     }},
    {"a flag", [](Seen& s) { s.request.argv[1] = "-O3"; }},
    {"two words instead of one",
     [](Seen& s) { s.request.argv = {s.toolchain.executable, "-O2main.c"}; }},
    {"a variable", [](Seen& s) { s.request.env[0] = "PATH=/bin"; }},
    {"a variable more", [](Seen& s) { s.request.env.emplace_back("A=B"); }},
    {"a word that is a variable",
     [](Seen& s) {
       s.request.argv.emplace_back("PATH=/usr/bin");
       s.request.env.erase(s.request.env.begin());
     }},
    {"the directory", [](Seen& s) { s.request.directory = "/elsewhere"; }},
    {"the processors", [](Seen& s) { s.request.one_cpu = true; }},
    {"the compiler's content", [](Seen& s) { s.host.Write("gcc", "newer compiler"); }},
    {"the compiler's place",
     [](Seen& s) { s.toolchain.executable = s.host.Write("gcc-13", "compiler"); }},
    {"the compiler's version", [](Seen& s) { s.toolchain.version = "gcc 13"; }},
    {"the roots", [](Seen& s) { s.toolchain.roots = {"/opt"}; }},
    {"the packages", [](Seen& s) { s.packages = s.host.path() + "/"; }},
    {"packages installed anew", [](Seen& s) { s.host.Write("new-package", ""); }},
    {"the language file", [](Seen& s) { s.language.text += " # changed"; }},
    {"what is shown", [](Seen& s) { s.language.compile->read_only = {"/etc/alternatives"}; }},
    {"the grade", [](Seen& s) { s.grade = jail::Grade::kRootless; }},
};

TEST(CompileKey, EverythingThatTheCompilerSeesMakesAnotherKey) {
  for (const Change& change : kChanges) {
    Seen seen;
    const std::string before = seen.Key();
    EXPECT_EQ(before.size(), 64U);
    EXPECT_EQ(before, seen.Key());
    change.make(seen);
    EXPECT_NE(before, seen.Key()) << change.what;
  }
}

TEST(CompileKey, EachLimitMakesAnotherKeyUnlessItsRowSaysWhyNot) {
  Seen seen;
  const std::string before = seen.Key();
  for (const limits::Limit& limit : limits::kLimits) {
    seen.request.limits = limits::testing::WithNumber(limit, 7'000'000);
    EXPECT_EQ(seen.Key() == before, !limit.not_in_compile_key.empty()) << limit.key;
  }
}

TEST(CompileKey, HowLongItMayTakeIsNoPartOfIt) {
  Seen seen;
  const std::string before = seen.Key();
  seen.request.limits.wall_time = seen.request.limits.cpu_time = std::chrono::seconds(1);
  seen.request.stdin_fd = 7;
  EXPECT_EQ(before, seen.Key());
}

TEST(CompileKey, AWordThatChangesByItselfMakesNone) {
  Seen seen;
  seen.language.compile->changing_words = {"__DATE__", "__TIME__"};
  EXPECT_NE(seen.Key(), "");
  seen.files[1].content = "const char* when = __TIME__;";
  EXPECT_EQ(seen.Key(), "");
}

}  // namespace
}  // namespace polybox::compile

#include "http/doors/language_list.h"

#include <gtest/gtest.h>

#include "limits/testing/with_number.h"

namespace polybox::http {
namespace {

ListedLanguage Sample() {
  ListedLanguage sample;
  sample.id = "go";
  sample.name = "Go";
  sample.aliases = {"golang"};
  sample.extensions = {".go"};
  sample.mode = "golang";
  sample.supports = {"run", "compile"};
  sample.described = {"test"};
  // A different number for each limit: 1 for the first row of the table, and so on.
  std::int64_t number = 0;
  for (const limits::Limit& limit : limits::kLimits) {
    sample.run_limits = limits::testing::WithNumber(limit, ++number, sample.run_limits);
  }
  return sample;
}

constexpr std::string_view kRunLimits =
    R"({"wall_time_ms":1,"cpu_time_ms":2,"cpu_ms_per_second":10,"memory_bytes":3,)"
    R"("swap_bytes":4,"address_space_bytes":5,"stack_bytes":9,"disk_bytes":11,"file_size_bytes":6,)"
    R"("output_bytes":13,"inodes":12,"open_files":7,"processes":8})";

TEST(LanguageList, ALanguageThatDoesNotRunHereHasItsReason) {
  ListedLanguage go = Sample();
  go.reason = "\"go\" not found on PATH";
  go.fix = "install it";
  EXPECT_EQ(LanguageListJson({go}, "python", "python"),
            R"({"mode":"python","language":"python","languages":[{"id":"go","name":"Go",)"
            R"("aliases":["golang"],"extensions":[".go"],"mode":"golang","available":false,)"
            R"("version":null,"reason":"\"go\" not found on PATH","fix":"install it",)"
            R"("supports":["run","compile"],"described":["test"],"fallback":null,)"
            R"("preinstalled_packages":[],"limits":{"compile":null,"run":)" +
                std::string(kRunLimits) + "}}]}\n");
}

TEST(LanguageList, ALanguageThatRunsHereHasItsVersionAndTheLimitsOfBothSteps) {
  ListedLanguage go = Sample();
  go.available = true;
  go.version = "go version go1.26";
  go.packages = {"golang.org/x/text"};
  go.compile_limits = go.run_limits;
  const std::string json = LanguageListJson({go}, "golang", "go");
  EXPECT_NE(json.find(R"("available":true,"version":"go version go1.26","reason":null,"fix":null)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("preinstalled_packages":["golang.org/x/text"],"limits":{"compile":)" +
                      std::string(kRunLimits) + R"(,"run":)" + std::string(kRunLimits)),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace polybox::http

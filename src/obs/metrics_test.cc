#include "obs/metrics.h"

#include <thread>

#include <gtest/gtest.h>

namespace polybox::obs {
namespace {

using std::chrono::milliseconds;

std::string Rendered(const auto& family) {
  std::string text;
  family.AppendTo(text);
  return text;
}

TEST(Families, CountersAddUpPerCombinationOfLabels) {
  Counters counters({"runs_total", "Runs.", {"language", "outcome"}});
  counters.Add({"python", "exited"});
  counters.Add({"python", "exited"});
  counters.Add({"go", "timed_out"}, 3);
  EXPECT_EQ(Rendered(counters), R"(# HELP runs_total Runs.
# TYPE runs_total counter
runs_total{language="go",outcome="timed_out"} 3
runs_total{language="python",outcome="exited"} 2
)");
}

TEST(Families, AValueOnABoundIsInItsBucketAndBucketsAreCumulative) {
  Histograms histograms({"wait_seconds", "Wait.", {"door"}}, {0.5, 1});
  for (const double value : {0.25, 0.5, 0.75, 4.0}) histograms.Observe({"run"}, value);
  EXPECT_EQ(Rendered(histograms), R"(# HELP wait_seconds Wait.
# TYPE wait_seconds histogram
wait_seconds_bucket{door="run",le="0.5"} 2
wait_seconds_bucket{door="run",le="1"} 3
wait_seconds_bucket{door="run",le="+Inf"} 4
wait_seconds_sum{door="run"} 5.5
wait_seconds_count{door="run"} 4
)");
}

TEST(Families, LabelsCannotBreakTheFormat) {
  Counters counters({"x_total", "X.", {"path"}});
  counters.Add({"a\"b\\c\nd"});
  EXPECT_NE(Rendered(counters).find(R"(x_total{path="a\"b\\c\nd"} 1)"), std::string::npos);
}

TEST(Families, GaugesAreAskedWhenTheyAreShown) {
  double value = 1;
  const Gauge gauge{{"active", "Active."}, [&value] { return value; }};
  value = 7;
  EXPECT_EQ(Rendered(gauge), "# HELP active Active.\n# TYPE active gauge\nactive 7\n");
}

TEST(Families, CountersThatAreKeptElsewhereAreAskedWhenTheyAreShown) {
  Metrics metrics;
  double count = 1;
  metrics.AddCounters({{"asked_total", "Asked.", {"who"}},
                       [&count] { return std::vector<KeptCounters::Value>{{{"guest"}, count}}; }});
  count = 7;
  EXPECT_NE(metrics.Render().find("# HELP asked_total Asked.\n# TYPE asked_total counter\n"
                                  "asked_total{who=\"guest\"} 7\n"),
            std::string::npos);
}

TEST(Metrics, ARunIsCountedOnceInEveryFamilyThatItHasAFigureFor) {
  Metrics metrics;
  metrics.RunEnded({.language = "rust",
                    .door = "run",
                    .outcome = "exited",
                    .queued = milliseconds(2),
                    .install = std::nullopt,
                    .compile = milliseconds(700),
                    .compile_hit = true,
                    .run = milliseconds(1),
                    .warm = true});
  metrics.RunRefused("run", "busy");
  const std::string page = metrics.Render();
  for (const char* line :
       {"\npolybox_runs_total{language=\"rust\",door=\"run\",outcome=\"exited\"} 1\n",
        "\npolybox_warm_runs_total{language=\"rust\",door=\"run\"} 1\n",
        "\npolybox_compile_cache_total{language=\"rust\",door=\"run\",result=\"hit\"} 1\n",
        "\npolybox_refusals_total{door=\"run\",reason=\"busy\"} 1\n",
        "\npolybox_queue_seconds_count{door=\"run\"} 1\n",
        "\npolybox_compile_seconds_bucket{language=\"rust\",door=\"run\",le=\"0.5\"} 0\n",
        "\npolybox_compile_seconds_bucket{language=\"rust\",door=\"run\",le=\"1\"} 1\n",
        "\npolybox_run_seconds_count{language=\"rust\",door=\"run\",outcome=\"exited\"} 1\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  EXPECT_EQ(page.find("polybox_install_seconds_count"), std::string::npos);
}

TEST(Metrics, ThreadsMayCountAtOnce) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&metrics] {
      for (int j = 0; j < 250; ++j) metrics.RequestAnswered({"execute", "/execute", 200, {}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(metrics.Render().find("status=\"200\"} 1000\n"), std::string::npos);
}

}  // namespace
}  // namespace polybox::obs

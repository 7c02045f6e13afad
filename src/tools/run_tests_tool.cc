// run_tests: runs the tests of a project and says what failed.
#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

struct RunTestsArguments : ProjectArguments {
  std::string filter = {};

  static constexpr auto Members() {
    return std::tuple_cat(
        ProjectArguments::Members(),
        std::tuple(json::Optional("filter", &RunTestsArguments::filter,
                                  "Only matching tests, in the words of the runner")));
  }
};

Result<CheckAnswer> RunTests(const Context& context, const RunTestsArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_tests", arguments));
  verify::CheckRequest request = call.Request(verify::Check::kTest);
  request.options.filter = arguments.filter;
  return call.Run(request);
}

}  // namespace

Tool RunTestsTool() {
  return MakeTool<RunTestsArguments, CheckAnswer>(
      {.name = "run_tests",
       .title = "Run tests",
       .description = "Runs the tests of the project with its own runner. Answers with a verdict, "
                      "counts and each failure.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunTests);
}

}  // namespace polybox::tools

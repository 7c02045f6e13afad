// coverage: measures which lines the tests of a project run.
#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

Result<CheckAnswer> Coverage(const Context& context, const ProjectArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "coverage", arguments));
  return call.Run(call.Request(verify::Check::kCoverage));
}

}  // namespace

Tool CoverageTool() {
  return MakeTool<ProjectArguments, CheckAnswer>(
      {.name = "coverage",
       .title = "Measure coverage",
       .description = "Runs the tests of the project and tells how many lines of each file ran.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      Coverage);
}

}  // namespace polybox::tools

// run_lint: runs the linter of a project and lists its findings.
#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

Result<CheckAnswer> RunLint(const Context& context, const ProjectArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_lint", arguments));
  return call.Run(call.Request(verify::Check::kLint));
}

}  // namespace

Tool RunLintTool() {
  return MakeTool<ProjectArguments, CheckAnswer>(
      {.name = "run_lint",
       .title = "Run the linter",
       .description = "Runs the linter of the project. Answers with file:line:col:rule: message "
                      "for each finding.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunLint);
}

}  // namespace polybox::tools

// run_typecheck: runs the type checker or compiler of a project and lists its findings.
#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

Result<CheckAnswer> RunTypecheck(const Context& context, const ProjectArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_typecheck", arguments));
  return call.Run(call.Request(verify::Check::kTypecheck));
}

}  // namespace

Tool RunTypecheckTool() {
  return MakeTool<ProjectArguments, CheckAnswer>(
      {.name = "run_typecheck",
       .title = "Check types",
       .description = "Runs the type checker of the project, or its compiler.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunTypecheck);
}

}  // namespace polybox::tools

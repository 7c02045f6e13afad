// polybox mcp: offers the tools of a workspace to a coding agent that started polybox as its child
// process. Nothing is started or written before a tool needs it: clients also start this command
// only to ask which versions it speaks.
#include <csignal>
#include <fcntl.h>
#include <tuple>
#include <unistd.h>

#include "agent_tools.h"
#include "base/unique_fd.h"
#include "code_engine.h"
#include "command.h"
#include "complaint.h"
#include "http/serve.h"
#include "mcp/stdio.h"

namespace polybox::cmd {
namespace {

/// Moves a standard stream to a descriptor of its own and puts `replacement` in its place. Then no
/// other code and no child process can write between the messages or read them.
Result<UniqueFd> TakeStream(int stream, int replacement) {
  UniqueFd own(::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!own.valid()) return Error::FromErrno("take the standard streams");
  if (::dup2(replacement, stream) < 0) return Error::FromErrno("replace a standard stream");
  return own;
}

/// Tells a person who started this command by hand what it waits for.
void GreetTerminal(const Terminal& err) {
  if (::isatty(STDIN_FILENO) == 0) return;
  err.PrintLine(
      "polybox: waiting for an agent: this command speaks MCP, one JSON text per line; Ctrl-D ends "
      "it\nTry: docs/agents.md shows how to add it to a coding agent");
  std::ignore = err.Flush();
}

Result<int> Serve(const Context& context) {
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<AgentTools> agents, MakeAgentTools(context));
  agents->code = MakeCodeEngine(context, *agents->home);
  GreetTerminal(context.err);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.valid()) return Error::FromErrno("open /dev/null");
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd in, TakeStream(STDIN_FILENO, nothing.get()));
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd out, TakeStream(STDOUT_FILENO, STDERR_FILENO));
  // A client that has gone is noticed by the failed write.
  ::signal(SIGPIPE, SIG_IGN);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, http::StopSignals());
  tools::Context call = agents->context();
  call.principal = "stdio";
  const mcp::StdioEnd end = mcp::ServeStdio({.dispatcher = agents->dispatcher,
                                             .tasks = &agents->tasks,
                                             .context = std::move(call),
                                             .in = in.get(),
                                             .out = out.get(),
                                             .signals = signals.get()},
                                            agents->calls, context.log);
  // A call that does not return still uses the objects above.
  if (end == mcp::StdioEnd::kStuck) ::_exit(kFailure);
  return kSuccess;
}

}  // namespace

Subcommand McpCommand() {
  return {.name = "mcp",
          .doc = "Offer the tools of a workspace to a coding agent, over standard input and output",
          .options = {},
          .run = [](const Context& context) -> int {
            const Result<int> code = Serve(context);
            if (code.ok()) return *code;
            return Complain({.out = context.out, .err = context.err}, code.error());
          },
          .takes_agent_settings = true};
}

}  // namespace polybox::cmd

// An MCP server with the sample tools, for end-to-end tests of clients. Its code is that of
// `polybox mcp` but for the tools.
#include <csignal>
#include <unistd.h>

#include "mcp/stdio.h"
#include "mcp/tool_json.h"
#include "tools/testing/sample_tools.h"

int main(int argc, char** argv) {
  using namespace polybox;
  ::signal(SIGPIPE, SIG_IGN);
  const log::Logger log = log::Logger::ToStderr({});
  const auto form = mcp::StructuredOutputNamed(argc > 1 ? argv[1] : "auto");
  if (!form) return 2;
  const mcp::Dispatcher dispatcher({.tools = tools::testing::SampleRegistry(),
                                    .structured_output = *form,
                                    .version = "1.2.3",
                                    .instructions = "Tools for tests."},
                                   log);
  mcp::CallPool calls{mcp::CallLimits{}};
  const mcp::StdioEnd end = mcp::ServeStdio({.dispatcher = dispatcher,
                                             .context = {.principal = "stdio"},
                                             .in = STDIN_FILENO,
                                             .out = STDOUT_FILENO},
                                            calls, log);
  if (end == mcp::StdioEnd::kStuck) ::_exit(1);
  return 0;
}

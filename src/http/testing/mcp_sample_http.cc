// POST /mcp with the sample tools, for end-to-end tests of clients. Prints its address and serves
// until the end of its input.
#include <cstdio>
#include <unistd.h>

#include "http/doors/mcp.h"
#include "http/server.h"
#include "tools/testing/sample_tools.h"

int main() {
  using namespace polybox;
  const log::Logger log = log::Logger::ToStderr({});
  const mcp::Dispatcher dispatcher({.tools = tools::testing::SampleRegistry(),
                                    .version = "1.2.3",
                                    .instructions = "Tools for tests."},
                                   log);
  mcp::CallPool calls{mcp::CallLimits{}};
  http::ServerOptions options;
  options.doors = {http::MakeMcpDoor({.dispatcher = &dispatcher, .calls = &calls})};
  http::Server server(std::move(options), log);
  const Result<std::string> address = server.Listen("127.0.0.1:0");
  if (!address.ok()) return 1;
  server.Start();
  std::printf("%s\n", address->c_str());
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  server.Stop();
  return 0;
}

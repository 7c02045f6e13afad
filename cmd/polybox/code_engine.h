// The execution engine behind the tool execute_code. `polybox serve` has an engine; `polybox mcp`
// makes one when the first program comes, because finding all toolchains takes a second.
#pragma once

#include <memory>

#include "agent_tools.h"
#include "command.h"
#include "tools/code_runner.h"

namespace polybox::cmd {

/// Returns a runner that makes its own engine on first use. Slots come from `home`. Both arguments
/// must outlive it.
std::unique_ptr<tools::CodeRunner> MakeCodeEngine(const Context& context, MachineHome& home);

}  // namespace polybox::cmd

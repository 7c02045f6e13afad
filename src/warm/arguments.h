// The arguments and the environment of the process, as the process itself and /proc show them.
// Called on the one thread that uses the warm library (library.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polybox::warm {

/// Records the addresses of the process's memory; `stat` is its file of /proc.
void RememberMemory(int stat);
enum class Variables : std::uint8_t { kReplace, kStay };
/// Sets the arguments and the environment, in /proc and for the process itself. With kStay the
/// process keeps its own variables. Returns false when there is no memory.
bool SetArguments(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                  Variables variables);

}  // namespace polybox::warm

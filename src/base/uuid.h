// Random UUIDs (version 4), for handles that nobody can guess. Any thread.
#pragma once

#include <string>

namespace polybox {

/// Returns a new UUID such as "0b8ab4d5-5f0e-4a51-9f4b-0d7e6a3c2b19". 122 of its bits are random.
std::string NewUuid();

}  // namespace polybox

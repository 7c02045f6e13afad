// A Run message as a process reads it that may not allocate: see raw.h.
#pragma once

#include <array>
#include <span>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// What a guest needs of a Run before it becomes its program. It points into the message.
struct RunView {
  /// As execve() wants them.
  char** argv = nullptr;
  char** env = nullptr;
  const char* directory = nullptr;
  std::span<const ResourceLimit> limits;
};

/// Where a message is read.
struct RunRoom {
  std::array<char, kLargestMessage> bytes;
  /// As many as there can be: each has its length before it, each of the two lists its own and a
  /// null at the end.
  std::array<char*, kLargestMessage / sizeof(std::uint32_t)> words;
  /// The kernel knows 16.
  std::array<ResourceLimit, 32> limits;
};

/// Reads the first `size` bytes of `room` as a Run message: texts get their ends where they lie.
/// False when they are none.
bool ReadInPlace(RunRoom& room, std::size_t size, RunView& run);

}  // namespace polybox::jail::init

// Decodes a Run message in place, for a guest process that may not allocate: see raw.h. The
// message, its decoded form and the pointers to it are all in one RunRoom.
#pragma once

#include <array>
#include <span>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// What a guest needs of a Run message before it becomes its program. All pointers refer to the
/// RunRoom and are valid until the room is used for another message.
struct RunView {
  /// Null-terminated arrays, as execve() takes them.
  char** argv = nullptr;
  char** env = nullptr;
  const char* directory = nullptr;
  std::span<const ResourceLimit> limits;
};

/// The buffers in which a message is received and decoded. They have a fixed size, large enough for
/// every message of kLargestMessage bytes.
struct RunRoom {
  std::array<char, kLargestMessage> bytes;
  /// One pointer per text, and a null at the end of each of the two lists. The message has four
  /// bytes of length for each of these (a text, a list), so it cannot need more pointers than this.
  std::array<char*, kLargestMessage / sizeof(std::uint32_t)> words;
  /// The kernel knows 16 resource limits.
  std::array<ResourceLimit, 32> limits;
};

/// Decodes the first `size` bytes of `room` as a Run message. Each text is moved to the front by
/// the four bytes of its length, which makes room for its terminating 0. Returns false when the
/// bytes are no Run message. The caller must be the only process that uses the room.
bool ReadInPlace(RunRoom& room, std::size_t size, RunView& run);

}  // namespace polybox::jail::init

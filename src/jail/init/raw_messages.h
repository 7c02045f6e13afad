// Messages of processes that share the slot init's memory: see raw.h.
#pragma once

#include <span>
#include <string_view>

namespace polybox::jail::init {

/// False when it could not be sent. The descriptors stay the caller's.
bool SendRaw(int socket, std::string_view bytes, std::span<const int> fds = {});
/// One message into `room`, with `count` descriptors, for which `fds` must have room. Its length; 0
/// when the other side is gone, or sent anything else.
std::size_t ReceiveRaw(int socket, std::span<char> room, std::span<int> fds, std::size_t& count);

}  // namespace polybox::jail::init

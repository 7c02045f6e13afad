// Messages of processes that share the slot init's memory. The functions neither allocate nor use
// errno: see raw.h.
#pragma once

#include <span>
#include <string_view>

namespace polybox::jail::init {

/// Returns false when the message could not be sent. The descriptors stay the caller's.
bool SendRaw(int socket, std::string_view bytes, std::span<const int> fds = {});
/// Receives one message into `room` and its descriptors into `fds`; `count` becomes their number.
/// Returns the length. Returns 0 when the peer has closed its end, or when the bytes or the
/// descriptors do not fit.
std::size_t ReceiveRaw(int socket, std::span<char> room, std::span<int> fds, std::size_t& count);

}  // namespace polybox::jail::init

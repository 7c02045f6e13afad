// A pod's init: PID 1 of its PID namespace, which makes, awaits and reaps the guests of its pod,
// one after another. It shares its slot init's memory (raw.h), but not its descriptors.
#pragma once

#include <array>
#include <csignal>
#include <span>

#include <sys/resource.h>

#include "jail/init/last_word.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {

/// For a process that shares our memory: what would run over its end meets a page that is closed.
struct Stack {
  static constexpr std::size_t kPage = 4096;
  alignas(kPage) std::array<char, kPage> end;
  std::array<char, 16 * kPage> room;

  bool CloseEnd();
};

/// What a pod's init is born with.
struct PodBirth {
  /// Its end of the way to the slot init.
  int control = -1;
  bool in_namespaces = true;
  /// Guests may follow each other in it.
  bool may_stay = false;
  /// They may come from there.
  bool has_zygote = false;
  /// Borrowed: see PodOptions.
  int last_number = -1;
};

/// A guest to make. The slot init sends where this lies in the memory that both have, and the
/// descriptors that it names, then those of the cgroups. Gone when the guest has said that it is
/// ready.
struct GuestOrder {
  PodOptions options;
  /// The pod's end of the way to the server.
  int socket = -1;
  WarmFds warm;

  /// Where they stand, in the order in which they are sent.
  std::array<int*, 5> descriptors() {
    return {&socket, &warm.started, &warm.word, &options.zygote, &options.ruleset};
  }
  /// Puts those that came in place of those that were sent. How many were.
  std::size_t TakeDescriptors(std::span<const int> came) {
    std::size_t taken = 0;
    for (int* fd : descriptors()) {
      if (*fd >= 0) *fd = came[taken++];
    }
    return taken;
  }
};

/// To a pod's init: its guest is to end now.
inline constexpr int kEndGuest = SIGVTALRM;

/// Of the one pod that there is; its init's own while there is a guest.
inline LastWord last_word;

Ended FromUsage(const rusage& usage, int status);

/// Once.
bool CloseEndOfGuestStack();

/// The rest of its life; `birth` is a PodBirth, and gone after the first order. After a guest that
/// was all there ever was beside it, it says kDone and waits for the next order; after any other it
/// ends, and with it all that is left.
[[noreturn]] void PodMain(void* birth);

}  // namespace polybox::jail::init

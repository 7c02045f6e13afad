// The last word of a warm guest: "I end now, with this code", said before the kernel takes apart
// what an interpreter has in memory, which takes longer than most programs run. It is in a page
// that the guest shares with its pod's init and that needs no descriptor. All that it can do is
// what exit() does: when it is heard, the run is over, and all of the pod is killed as soon as the
// answer is on its way. Where the kernel has told of another end already, that counts. What a pod's
// init calls is raw (raw.h), for it shares its slot init's memory; it is the slot init that maps it
// for both.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace polybox::jail::init {

class LastWord {
 public:
  /// A descriptor of a new one, or -1.
  static int Make();
  /// Whether it is there from here on. The descriptor stays the caller's. Children do not have it.
  bool Map(int fd);
  void Unmap();

  // The guest's side.
  /// Nothing happens in a process that has not mapped it itself, or when there is none. Where
  /// somebody listens, the process is killed in here, before long; it waits for that, for its own
  /// end would take a processor from whoever answers.
  void Say(int code);

  // The init's side.
  bool exists() const { return page_ != nullptr; }
  /// Once, before there is a guest.
  void Listen();
  /// What has been said.
  std::optional<int> Heard() const;
  /// Returns at once if something has been said, or Interrupt() was called, since the last Await().
  void Await();
  /// Safe in a signal handler.
  void Interrupt();

 private:
  std::atomic<std::uint32_t>* page_ = nullptr;
  pid_t owner_ = -1;
};

}  // namespace polybox::jail::init

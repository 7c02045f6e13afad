// The last word of a warm guest: its exit code, reported before the kernel takes apart the memory
// of an interpreter. That takes longer than most programs run. The code is in a page that the
// guest shares with its cell's init and that needs no descriptor.
//
// The last word can do no more than exit() can. When the cell's init reads it, the run is over, and
// all processes of the cell are killed as soon as the answer is sent. If the kernel has already
// reported another end of the guest, that end counts.
//
// The slot init maps the page for itself and the cell's init, which share memory. The cell's init
// makes raw system calls only (raw.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace polybox::jail::init {

class LastWord {
 public:
  /// Returns a descriptor of a new page, or -1.
  static int Make();
  /// Maps the page of `fd` into the calling process. Returns whether that succeeded. The descriptor
  /// stays the caller's. Children made by fork() do not have the page.
  bool Map(int fd);
  void Unmap();

  // For the guest.
  /// Reports the exit code. Does nothing without a page, or in a process that has not called Map()
  /// itself. If a cell's init listens, the calling process waits here to be killed. Its ordinary
  /// end would take a processor from the processes that send the answer. Without a kill the call
  /// returns after two seconds.
  void Say(int code);

  // For the cell's init. The slot init calls Listen().
  bool exists() const { return page_ != nullptr; }
  /// Tells the guest that a cell's init listens. Call it once, before the guest exists.
  void Listen();
  /// Returns the reported exit code, if there is one.
  std::optional<int> Heard() const;
  /// Waits for a report. Returns at once if the guest has reported or Interrupt() was called since
  /// the last Await(); at the latest after a second.
  void Await();
  /// Wakes Await(). Safe in a signal handler.
  void Interrupt();

 private:
  std::atomic<std::uint32_t>* page_ = nullptr;
  pid_t owner_ = -1;
};

}  // namespace polybox::jail::init

// A slot whose root is built: its slot init, the socket to it, its cgroups and its directories.
// What runs in it is up to the owner: one run after another (slot.h), or the processes of a lease
// (lease.h). One thread at a time may use an object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/scratch_home.h"
#include "jail/seccomp_policy.h"
#include "jail/spec.h"
#include "sys/cgroup.h"

namespace polybox::jail {

struct SlotOptions {
  Spec spec;
  GuestFilter filter;
  /// The cgroup under which the slot's cgroup is made; null in grades without cgroups. Must outlive
  /// the slot.
  const sys::CgroupHome* cgroups = nullptr;
  /// Distinguishes the slots of this server; the number decides the host uids of the guests.
  unsigned number = 0;
  /// Whether a session may get what the session before left indistinguishable from new. Otherwise
  /// everything that a guest can write to, its PID namespace and its network namespace are made
  /// anew for each session.
  bool reuse = true;
  /// For tests: the operation of the plan that fails, -1 for none.
  int fail_at = -1;
};

/// By which criterion the kernel counts the processes of a run.
enum class TaskCounter {
  kCgroup,
  kUid,        ///< By a uid, or a user namespace, that only guests of this slot have.
  kSharedUid,  ///< By the uid of polybox, which all other programs of its user have too.
};

class BuiltSlot {
 public:
  /// Starts a slot init and lets it build the root. An error names the step that failed, and why.
  static Result<BuiltSlot> Make(const SlotOptions& options);
  BuiltSlot(BuiltSlot&& other) noexcept;
  BuiltSlot& operator=(BuiltSlot&&) = delete;
  ~BuiltSlot() { End(); }

  /// Ends the slot init, which ends all processes of the slot, and waits for its end. The last
  /// processes of a PID namespace may end a moment later. The cgroups stay until the destructor.
  void End();

  bool exists() const { return pid_ >= 0; }
  pid_t pid() const { return pid_; }
  /// Borrowed: the socket to the slot init.
  int socket() const { return socket_.get(); }
  /// Null in grades without cgroups.
  sys::SlotCgroup* cgroup() { return cgroup_ ? &*cgroup_ : nullptr; }
  const sys::SlotCgroup* cgroup() const { return cgroup_ ? &*cgroup_ : nullptr; }
  /// The uid that puts processes into the cgroups: see SlotCgroup::AllowStarter().
  uid_t starter() const { return starter_; }
  /// Null in grades with namespaces.
  const ScratchHome* home() const { return home_ ? &*home_ : nullptr; }
  const Places& places() const { return places_; }
  const std::vector<std::string>& shared() const { return shared_; }
  /// The guest's part of the seccomp filter.
  const std::string& filter() const { return filter_; }
  TaskCounter CountedBy() const;

  /// Waits for a Done message. A Failed message becomes an error that names its step.
  Status AwaitDone(const std::string& intent) const;
  Error ToError(const std::string& intent, const init::Received& received) const;

 private:
  BuiltSlot(pid_t pid, UniqueFd socket, std::optional<sys::SlotCgroup> cgroup);

  Status Build(const SlotOptions& options);
  /// In grades without namespaces: makes the slot's directory and chooses the uid of the guests.
  Status UseScratchHome(const SlotOptions& options, init::Setup& setup);
  /// Waits until the root is built, and records what the slot shares with the host.
  Status AwaitBuilt(const std::vector<init::Operation>& operations);
  /// Waits until the slot init has ended its descendants, in grades where no PID namespace ends
  /// them.
  void AwaitEnd() const;

  pid_t pid_ = -1;
  UniqueFd socket_;
  std::optional<sys::SlotCgroup> cgroup_;
  uid_t starter_ = 0;
  std::optional<ScratchHome> home_;
  Places places_;
  /// Whether guests have the uid of polybox, so that the kernel counts their processes together.
  bool shares_uid_ = false;
  /// One description per operation of the plan, to name the step that failed.
  std::vector<std::string> steps_;
  std::vector<std::string> shared_;
  std::string filter_;
};

}  // namespace polybox::jail

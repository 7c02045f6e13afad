// The parts of a slot init. It is a small, single-threaded, static program that holds the
// namespaces of one slot and makes one pod after another in it, each for one guest. Nothing of it
// runs with more rights than the slot's user namespace gives.
//
//  - root.cc builds the slot's root file system from the plan
//  - trees.cc shows parts of the host in it
//  - pod.cc makes the PID namespace of a run ahead of time, or takes one that is as good as new
//  - pod_init.cc is its PID 1, proc.cc its /proc
//  - waiting.cc is the process that waits in a pod and becomes the guest
//  - guest.cc is what every guest gives up and gets, wherever it comes from
//  - raw.h is how both can share the slot init's memory; raw_messages.cc and run_view.cc go with it
//  - zygote.cc keeps an interpreter that has started already, to fork guests from
//  - scratch.cc, filling.cc and trace.cc write a run's files and empty the scratch space after it
//  - network.cc, sockets.cc and ipc.cc see that the next one finds namespaces without a history
//  - egress.cc opens the door to the egress proxy
//  - bare_slot.cc, landlock.cc and end_tree.cc are the same for slots without namespaces
//  - main.cc answers the server
#pragma once

#include <array>
#include <ctime>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "jail/init/messages.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Inside every slot with namespaces the guest has this uid and gid.
inline constexpr unsigned kGuestId = 65534;

struct Ids {
  unsigned uid = kGuestId;
  unsigned gid = kGuestId;
};
/// Who the guests are. Changed once, when a slot without namespaces is set up.
inline Ids guest_ids;
/// Whether that is who we are: without root of our own there is one uid for all.
bool SharesUsers();

/// A failure to report, or nothing: stage kExec with error 0 never happens.
struct StepResult {
  bool ok = true;
  Failed failed;

  static StepResult Failure(Stage stage, int error, int index = -1) {
    return {false, {stage, error, index}};
  }
};

// sockets.cc
/// The numbers of both ends of a pair, as /proc/net/unix has them; 0 where there is none.
using SocketNumbers = std::array<ino_t, 2>;
using OwnSockets = std::array<SocketNumbers, 2>;
SocketNumbers NumbersOf(const int (&sockets)[2]);

/// Those that a session may have left in its network namespace.
class Sockets {
 public:
  /// Of the present namespace; `directory` is /proc/self/net.
  void Look(int directory);
  /// After a session: waits until there is no unix socket but `ours`; 0 or errno. `waited` says
  /// whether there was any.
  int AwaitNone(const OwnSockets& ours, bool& waited);

 private:
  bool HasOthers(const OwnSockets& ours);

  int list_ = -1;
  int count_ = -1;
  /// How many sockets there were, of any kind, when the only unix sockets were these.
  std::string quiet_count_;
  OwnSockets quiet_ours_{};
};

// network.cc
/// The counters of a network namespace outlive those who moved them.
class Network {
 public:
  /// While /proc is still the host's.
  int Open();
  /// From here on there is a loopback and a listener on it. 0 or errno.
  int OpenEgress();
  /// The listener that was opened last: the caller's to close. -1 when there is none, or it was
  /// taken.
  int TakeEgress() { return std::exchange(listener_, -1); }
  /// Between two sessions: a new namespace if the old one was used. One with egress always counts
  /// as used, and the new one has a new listener. 0 or errno.
  int Renew();
  int renewals() const { return renewals_; }
  Sockets& sockets() { return sockets_; }

 private:
  void Look();
  std::string Read() const;

  int directory_ = -1;
  std::vector<int> counters_;
  Sockets sockets_;
  std::string unused_;
  bool has_egress_ = false;
  int listener_ = -1;
  int renewals_ = 0;
};

// ipc.cc
/// Of System V objects.
class Ipc {
 public:
  /// While /proc is still the host's.
  void Open();
  /// Between two runs: a new namespace if anything was made in the old one. 0 or errno.
  int Renew();
  /// From here on there is a guest in it.
  void Enter() { may_be_used_ = true; }
  int renewals() const { return renewals_; }

 private:
  void Look();
  bool IsUnused() const;

  int directory_ = -1;
  /// Files of the present namespace, one for each kind of object.
  std::vector<int> choices_;
  bool may_be_used_ = false;
  int renewals_ = 0;
};

// egress.cc
/// Loopback up, and a listener there; 0 or errno.
int ListenForEgress(int& listener);

// root.cc
/// What could not be built as asked for, but well enough to go on, goes to `built`.
StepResult BuildRoot(const Setup& setup, const std::vector<int>& trees, Network& network,
                     Built& built);
int OrErrno(long result);
/// mkdir -p; what exists is fine. 0 or errno.
int MakeDirectories(const std::string& path);
int MakeParent(const std::string& path);
/// Mounts the tmpfs of `operation` on its target, which must exist; 0 or errno.
int MountTmpfs(const Operation& operation, const std::string& target);

/// The new root is assembled over /proc: a directory that every host has. The current directory is
/// in it, and all targets are relative to that, so that the same path works before and after the
/// pivot.
inline constexpr const char* kAssembly = "/proc";

/// Where operations take from; all borrowed.
struct Sources {
  /// What the server has handed in.
  const std::vector<int>& trees;
  int host_proc;
  Network& network;
  /// A directory under the new root, where trees are made ready. It goes with the old root.
  int stage = -1;
};

// trees.cc
/// Before the new root: makes the stage. These return 0 or errno.
int OpenStage(int& stage);
/// Executes a kStage.
int StageTree(const Operation& operation, const Sources& sources);
/// Executes a kBind. `shared` gets the reason when the host's own inodes are shown although others
/// were asked for.
int ShowTree(const Operation& operation, const Sources& sources, int& shared);

// scratch.cc
StepResult WriteFiles(const Files& files, int content);
/// What a scratch directory is known by again: see trace.cc. Of a directory that may not be known
/// again, the number is 0.
struct Trace {
  timespec changed{};
  ino_t number = 0;
};

/// A scratch directory, empty or with files of ours and nothing else in it, and its trace then.
struct Scratch {
  Operation operation;
  Trace trace = {};
  /// How often it was mounted anew.
  int mounts = 0;
  std::vector<FileHeader> files = {};
  /// Of these in the directory: see filling.cc.
  std::int64_t last_place = 0;

  std::string path() const { return "/" + operation.target; }
};

/// The directory `name` below the working directory, or that itself; -1 and errno on failure. No
/// link is followed.
int OpenWorkDirectory(const std::string& directory, const std::string& name);

/// After the root is built.
void RememberScratch(std::vector<Scratch>& all);
/// Before a guest comes: directories made so recently that its changes may not show in their times
/// will count as changed.
void DistrustNewScratch(std::vector<Scratch>& all);
/// Whatever they look like, they will be made anew.
void DistrustScratch(std::vector<Scratch>& all);
/// Directories that were changed since they were made are made anew.
StepResult EmptyScratch(std::vector<Scratch>& all);

// trace.cc
/// Once, by a directory that no guest has seen: whether every change of one shows in its time.
void LearnWhetherEveryChangeShows(const std::string& path);
bool EveryChangeShows();
Trace LookAt(const std::string& path);
/// The same where just so many inodes were made since `before`, all by us. If that is not so, the
/// directory is not known again.
Trace LookAfter(const std::string& path, const Trace& before, std::size_t made);
/// Before a guest comes: a trace so recent that a change may not show in its time is none.
void Distrust(Trace& trace);
/// Whether nothing has happened in the directory since it left that trace, which is then one of
/// now, or none.
bool IsAsItWas(const std::string& path, Trace& trace);

// filling.cc
/// Whether it is empty, with nothing to be told from a new one.
bool IsUntouched(Scratch& scratch);
/// After the files were written to a directory that was untouched.
void RememberFilling(Scratch& scratch, const std::vector<FileHeader>& files);
/// Takes away the files that were put into it. False when that does not make it as good as new:
/// then it must be made anew.
bool TakeFillingAway(Scratch& scratch);

/// Gives the working directory and /tmp another size. What is in them already may be more: then the
/// size stays.
StepResult ResizeScratch(std::vector<Scratch>& all, const Resize& size);

/// A WarmStart that is ready to be executed, by a process that may not allocate.
struct WarmCommand {
  explicit WarmCommand(const WarmStart& warm);
  WarmCommand(const WarmCommand&) = delete;
  WarmCommand& operator=(const WarmCommand&) = delete;

  std::vector<std::string> words;
  std::vector<std::string> variables;
  /// Of those.
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<ResourceLimit> limits;
};

/// What a pod and its guest are made with. The cgroup files are those of a NextPod message,
/// borrowed.
struct PodOptions {
  /// The last part of the guest's.
  const std::string& filter;
  const NextPod& next;
  std::span<const int> cgroups;
  bool in_namespaces = true;
  /// Borrowed; -1 for no Landlock.
  int ruleset = -1;
  /// See Bare.
  bool closed_trees = false;
  /// The interpreter to start in the pod ahead of its program; null for none. Outlives the pod.
  const WarmCommand* warm = nullptr;
  /// Borrowed: the way to the zygote that forks the guest; -1 for none.
  int zygote = -1;
  /// To the namespaces that the pod is in: it is still in those of an earlier one.
  bool zygote_moves = false;
  /// Guests that follow this one may come from a zygote.
  bool zygote_later = false;
  /// Borrowed: the host's own file of the last process number, which is that of whoever writes it.
  /// One of the pod's would be in guests' reach.
  int last_number = -1;
};

/// What a warm guest says by itself; none for others. Borrowed.
struct WarmFds {
  /// The pod's eventfd: it has taken its program.
  int started = -1;
  /// Its LastWord.
  int word = -1;
};

// waiting.cc: nothing in it allocates or uses errno, see raw.h.
/// The rest of a process's life, from its first instruction in the pod: gives up all that a guest
/// may not have, says that it is ready, and turns into the program that a Run message names. Until
/// then it shares the slot init's memory.
[[noreturn]] void WaitAsGuest(int socket, const PodOptions& options, const WarmFds& fds);
/// In the slot init, after a pod has ended: gives back what its guest has read.
void ForgetRun();

// guest.cc: the same, but for Pointers().
/// All that needs no knowledge of the program, but for the filter.
StepResult GiveUpRights(const PodOptions& options);
/// For all threads of the process; an empty one is none.
StepResult InstallFilter(const std::string& filter);
StepResult SetLimits(std::span<const ResourceLimit> limits);
/// The standard streams, the directory and the limits of a run.
StepResult TakePlace(const char* directory, std::span<const ResourceLimit> limits,
                     std::span<const int> streams);
/// Returns only on failure.
Failed Execute(char* const* argv, char* const* env);

/// As execve() wants them; `texts` must outlive it.
std::vector<char*> Pointers(const std::vector<std::string>& texts);

// zygote.cc, with WarmCommand
/// Capabilities that the slot init hands on to a zygote. Before the bounding set is dropped.
int KeepForZygote();

class Zygote {
 public:
  /// Once, while the host's is there: what zygotes want to know of themselves they get from it.
  void KeepProc();
  /// Between two sessions, and then only: starts it when there is none, and waits until it is
  /// ready. Whether there is one.
  bool Prepare(const WarmCommand& warm, bool between_sessions);
  /// Whether it is in other namespaces than those that were made last; it will be in these.
  bool MovesTo(int renewals);
  /// Borrowed: where to ask for a guest.
  int socket() const { return socket_; }
  const SocketNumbers& socket_numbers() const { return socket_numbers_; }
  /// -1 when there is none.
  pid_t pid() const { return pid_; }
  /// After it did not give one.
  void Stop();

 private:
  /// Says whether it could.
  bool Start(const WarmCommand& warm);
  void AwaitReady();

  int proc_ = -1;
  pid_t pid_ = -1;
  int socket_ = -1;
  SocketNumbers socket_numbers_{};
  bool ready_ = false;
  /// Guests forked so far.
  int forks_ = 0;
  /// How often namespaces had been replaced when it got into its own; -1 when nobody knows.
  int namespaces_ = -1;
  /// Starts in a row that came to nothing.
  int failures_ = 0;
};

// proc.cc
/// In a pod's init, raw; 0 or errno.
int MountProc();

/// The links of a /proc that are there for as long as it is. They have the time when somebody first
/// followed them, and then no other for a day.
class ProcLinks {
 public:
  void Look();
  /// Follows them while no guest runs, if none has done so: from the next tick of the clock after
  /// they were made, none can change them then.
  void Settle();
  /// Whether nobody has changed their times since.
  bool AreAsTheyWere() const;

 private:
  std::array<timespec, 2> followed_{};
  bool will_change_ = false;
};

/// Between two guests that see the same /proc. `links` is how they were before the first, and are
/// then for the second. Whether nothing in there tells any more who looked at it, and when.
bool ForgetLooksAtProc(ProcLinks& links);
void UnmountProc();

// pod.cc
/// A PID namespace with its own init and /proc, and a process that waits for its program.
struct Pod {
  pid_t pid = -1;
  /// -1 while there is none.
  pid_t guest = -1;
  int pidfd = -1;
  /// The server's end of the guest's.
  int socket = -1;
  /// Its guest has started already.
  bool warm = false;
  /// Our end of the way to its init.
  int control = -1;
  SocketNumbers control_numbers{};
  /// Its init may be there for another guest.
  bool may_stay = false;
  /// How many have ended in it.
  int guests = 0;
  /// The server has its pidfd.
  bool is_known = false;
  ProcLinks links = {};
  /// How often the namespaces that it shares with us had been replaced when it got into them.
  int namespaces = 0;

  bool exists() const { return pid > 0; }
};

/// In the pod that is there, without a guest, or in a new one.
StepResult MakePod(const PodOptions& options, Pod& pod);
/// Ends all that a guest has left, and with it the pod, unless the guest was all that has ever been
/// in it: then the next one finds a namespace as good as new. Returns what was used in a pod that
/// was ended.
Ended EndRun(Pod& pod);
/// Kills all that is in it, reaps it and forgets it. Returns what all its processes used.
Ended EndPod(Pod& pod);

}  // namespace polybox::jail::init

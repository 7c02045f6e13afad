// The messages between the server, a slot init and the pods that it makes, over SEQPACKET sockets,
// descriptors beside them:
//
//   server                                 slot init
//   Setup{operations} + trees       ─▸     builds the slot's root, once
//                                   ◂─     Built{shared} [+ the egress listener] | Failed
//   Files{...} + content            ─▸     writes the run's files into the working directory
//                                   ◂─     Done | Failed
//   Resize{bytes, inodes}           ─▸     gives the scratch space another size
//                                   ◂─     Done | Failed
//   NextPod{...} + cgroups          ─▸     makes the pod for the next run, after ending the last
//                                   ◂─     PodReady{pids} + its socket, pidfd, directory | Failed
//   Reap                            ─▸     ends the pod
//                                   ◂─     Ended{usage}
//   Wipe                            ─▸     ends the pod, empties the scratch space, renews the
//                                          network
//                                   ◂─     Done [+ the new egress listener] | Failed
//   OpenDirectory{name, ...}        ─▸     opens a directory of the working directory
//                                   ◂─     Done + its descriptor | Failed
//
//   server                                 pod
//                                   ◂─     Done, from an interpreter that was executed there ahead
//                                          of its program: it is ready
//   Run{argv, limits, ...} + stdio  ─▸     the process that waits in it becomes the guest
//                                   ◂─     Failed, from that process, or Ended{status, usage} from
//                                          the pod's init
//
//   pod                                    zygote, an interpreter that has started already
//                                   ◂─     Done, to the slot init: it is ready to fork
//   Done + its stat and maps        ─▸     from the slot init: what it looks like in /proc
//   Fork{cgroups} + namespaces      ─▸     forks the process that waits in the pod
//
// The server closing its end ends the slot. Used by both sides: no dependency beyond wire.h.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/time.h>

#include "jail/init/wire.h"

namespace polybox::jail::init {

enum class MessageKind : std::uint8_t {
  kSetup,
  kFiles,
  kResize,
  kNextPod,
  kReap,
  kWipe,
  kOpenDirectory,
  kRun,
  kFork,
  kDone,
  kFailed,
  kPodReady,
  kEnded,
  kBuilt
};

/// The largest message; argv and environment must fit.
inline constexpr std::size_t kLargestMessage = 192 * 1024;
inline constexpr std::size_t kMostDescriptors = 64;

/// The guest's number in its pod: the first after that of its init.
inline constexpr pid_t kGuestPid = 2;
/// Of a process that helps to make it: any other, but none that a guest's child would get soon.
inline constexpr pid_t kHelperPid = 300;

/// Where guests that may reach someone find the proxy that leads there.
inline constexpr std::uint16_t kEgressPort = 3128;

// What an interpreter that is started ahead finds: see warm/warm.h. The descriptors are above those
// that it opens by itself, which are then the same as ever, and in the smallest table of them.
inline constexpr int kWarmWord = 61;
inline constexpr int kWarmSocket = 62;
inline constexpr int kWarmStarted = 63;
inline constexpr const char* kWarmDirectory = "/.warm";
inline constexpr const char* kWarmLibrary = "/.warm/library";
inline constexpr const char* kWarmVariable = "POLYBOX_AHEAD";

/// The signal that has a pod's init, where it is PID 1 of a namespace, kill and reap all others in
/// the pod, and end. A guest that can send it kills nobody but itself.
inline constexpr int kKillAll = SIGALRM;

/// What a step of building the slot's root does.
enum class OperationKind : std::uint8_t {
  kRoot,          ///< A new tmpfs root over `/proc`; the current directory is in it from here on.
  kDirectory,     ///< mkdir -p target.
  kSymlink,       ///< target -> source.
  kFile,          ///< A small file with the content `source`.
  kBind,          ///< Mounts what descriptor `tree` stands for, or the path `source`, on target.
  kTmpfs,         ///< A size- and inode-limited tmpfs on target.
  kKeepProc,      ///< Keeps the host's /proc mounted where nobody can reach it: see plan.cc.
  kPivot,         ///< Makes the new root `/` and lets the old one go.
  kReadOnlyRoot,  ///< Nothing can be added to the root from here on.
  kHostName,      ///< Sets it to `source`.
  kEgress,        ///< Loopback, and a listener on its port kEgressPort for the server.
  kStage,         ///< Mounts `tree` where only a kBind can reach it, by a relative `source`.
  kCopy,          ///< A file with the content of descriptor `tree`.
};

/// Paths are relative to the new root. `tree` is an index into the descriptors of the message.
struct Operation {
  OperationKind kind = OperationKind::kRoot;
  std::string target;
  std::string source;
  std::int32_t tree = -1;
  /// MS_* for mounts.
  std::uint64_t flags = 0;
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  std::uint32_t mode = 0;
  /// kBind: the target is a file, not a directory.
  bool is_file = false;
  /// kBind: with inodes of the slot's own, so that locks and watches on them reach nobody else.
  bool own = false;

  bool operator==(const Operation&) const = default;
};

/// What stands between a guest and the host.
enum class Walls : std::uint8_t {
  kNamespaces,
  kLandlock,  ///< No namespaces: Landlock and the filter.
  kNothing,   ///< Process control only.
};

/// What Landlock allows on `path` and below it; a relative path is one in the slot's directory.
struct PathRule {
  std::string path;
  /// LANDLOCK_ACCESS_FS_*
  std::uint64_t rights = 0;

  bool operator==(const PathRule&) const = default;
};

/// What a slot without namespaces needs besides.
struct Bare {
  Walls walls = Walls::kNamespaces;
  /// The slot's own directory on the host; targets of operations are relative to it.
  std::string home;
  /// The host uid of the guests, with the next lower one for those who clean up after them. 0: all
  /// have ours.
  std::uint32_t uid = 0;
  /// Some tree lies under a directory that the guests' uid may not enter.
  bool closed_trees = false;
  std::vector<PathRule> rules;
};

struct ResourceLimit {
  std::int32_t resource = 0;
  std::uint64_t value = 0;

  bool operator==(const ResourceLimit&) const = default;
};

enum class WarmKind : std::uint8_t {
  kNone,
  kZygote,    ///< One interpreter in the slot, from which every guest is forked.
  kPrestart,  ///< An interpreter in every pod, started before there is a program.
};

/// How guests are started before they know their program: see warm/warm.h.
struct WarmStart {
  WarmKind kind = WarmKind::kNone;
  std::vector<std::string> argv;
  std::vector<std::string> env;
  /// The program's path where `argv` names it, so that it must be there from the start; else "".
  std::string entry;
  /// Those that count from the start of a process.
  std::vector<ResourceLimit> limits;

  bool operator==(const WarmStart&) const = default;
};

struct Setup {
  std::vector<Operation> operations;
  /// Filters are arrays of sock_filter; an empty one is none. The init's own, which guests inherit.
  std::string filter_of_slot;
  /// What every guest gets besides.
  std::string filter_of_guest;
  /// For tests of what happens then: the operation that fails, -1 for none.
  std::int32_t fail_at = -1;
  /// Whether uid 0 of the namespace is mapped beside the guest's (full), or the guest's alone
  /// (rootless).
  bool has_root = false;
  Bare bare;
  /// Only where there are namespaces.
  WarmStart warm;
};

/// Operation `index` should have shown a tree with inodes of its own and could not: `error` says
/// why. The host's own inodes are shown instead.
struct SharedTree {
  std::int32_t index = -1;
  std::int32_t error = 0;
};

struct Built {
  std::vector<SharedTree> shared;
};

/// Of the working directory and of /tmp, from here on.
struct Resize {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};

/// Descriptors of the message, in order: `join_count` cgroup files to join by writing "0", then the
/// cgroup directory to clone the guest into if `clone_into`.
struct NextPod {
  std::uint32_t join_count = 0;
  bool clone_into = false;
  /// Whether a guest that has started already is wanted.
  bool warm = false;
  /// Nothing of any guest is in the slot: a zygote may be started. Otherwise there must be one.
  bool between_sessions = false;
  /// A cgroup tells all that a guest uses.
  bool counted = false;
};

/// As the server sees them. The descriptors beside it: the guest's socket; and those that are new
/// of the pidfd of its init, the working directory and the door to the egress proxy.
struct PodReady {
  std::int32_t init = 0;
  std::int32_t guest = 0;
  /// The guest has started already, and waits for its filter with its program.
  bool warm = false;
  /// The process that it was forked from, if any.
  std::int32_t zygote = 0;
  bool new_init = true;
  bool new_work = true;
  bool new_egress = false;
  /// The working directory could be opened.
  bool has_work = true;
};

/// Descriptors of the message, in order: those of ForkFd; the file that sets the last process
/// number, if the guest is to; if the zygote moves, those of the IPC and the network namespace that
/// it is in from then on; the cgroups as in a NextPod message.
struct Fork {
  std::uint32_t join_count = 0;
  bool clone_into = false;
  bool moves = false;
  /// The guest's own number is to be the last one: those who helped to make it had others, from
  /// kHelperPid on.
  bool sets_number = false;
};

enum ForkFd : std::uint8_t {
  kForkSocket,      ///< The pod's.
  kForkPids,        ///< Its PID namespace.
  kForkStarted,     ///< An eventfd: the guest has taken its program.
  kForkWord,        ///< Where the guest leaves its last word.
  kForkRelease,     ///< Closed when the guest is there, or will never be.
  kForkDescriptors  ///< Their number.
};

/// Descriptors of the message: stdin, stdout, stderr.
struct Run {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;
  std::vector<ResourceLimit> limits;
  /// For the interpreter that has started already; otherwise it is replaced by `argv`.
  bool warm = false;
  /// For a guest that has only its slot's yet.
  std::string filter = {};
};

/// Relative to the working directory; "" is that itself.
struct OpenDirectory {
  std::string name;
  /// Whether a run has ended: what is left of its pod may not change what will be read.
  bool after_run = false;
};

/// How the guest ended, as the init of its pod sees it.
struct Ended {
  /// What wait4() says.
  std::int32_t status = 0;
  std::uint64_t user_nanoseconds = 0;
  std::uint64_t system_nanoseconds = 0;
  /// Of the largest process, from rusage; the cgroup's figure is better where there is one.
  std::uint64_t largest_resident_bytes = 0;
  /// False when it ended before it took its program.
  bool started = true;
};

/// The step that failed. A static table in protocol.cc names them for messages.
enum class Stage : std::uint8_t {
  kMessage,     ///< A message could not be understood.
  kNamespaces,  ///< Unsharing or joining a namespace.
  kIdentity,    ///< Becoming uid 0 of the namespace.
  kOperation,   ///< Operation `index` of the plan.
  kFiles,       ///< Writing file `index`.
  kWipe,        ///< Emptying scratch directory `index`.
  kOpen,        ///< Opening a directory for the server.
  kNetwork,     ///< Making a network namespace for the next session.
  kPod,         ///< Making the pod: its namespaces, /proc and first processes.
  kCgroup,      ///< Joining cgroup `index`.
  kStdio,       ///< Putting the standard streams in place.
  kLimits,      ///< Resource limit `index`.
  kDrop,        ///< Giving up identity and capabilities.
  kLandlock,    ///< Putting Landlock on the guest; `index` is the rule.
  kSeccomp,     ///< Installing the filter.
  kDirectory,   ///< Entering the working directory.
  kExec,        ///< Executing the program.
  kWarm,        ///< Starting an interpreter ahead of its program.
};

struct Failed {
  Stage stage = Stage::kMessage;
  std::int32_t error = 0;
  std::int32_t index = -1;
};

/// A file, or with S_IFLNK in its mode a link to its content, with S_IFDIR a directory.
struct FileHeader {
  std::string name;
  std::uint32_t mode = 0644;
  std::uint64_t size = 0;
};

/// The descriptor of the message holds the contents one after the other.
struct Files {
  std::string directory;
  std::vector<FileHeader> files;
};

/// What a warm guest writes to the pod's eventfd when it takes its program: never 0, and the
/// processor time that it has used by then, in microseconds.
std::uint64_t PackUsedBefore(const timeval& user, const timeval& system);
struct UsedBefore {
  std::uint64_t user_nanoseconds = 0;
  std::uint64_t system_nanoseconds = 0;
};
UsedBefore UnpackUsedBefore(std::uint64_t word);

std::string Encode(const Setup& message);
std::string Encode(const Files& message);
std::string Encode(const Resize& message);
std::string Encode(const NextPod& message);
std::string Encode(const PodReady& message);
std::string Encode(const OpenDirectory& message);
std::string Encode(const Run& message);
SmallMessage Encode(const Fork& message);
SmallMessage Encode(const Ended& message);
SmallMessage Encode(const Failed& message);
std::string Encode(const Built& message);
/// A message without content.
SmallMessage Encode(MessageKind kind);

/// False when the bytes are not such a message.
bool Decode(std::string_view bytes, Setup& message);
bool Decode(std::string_view bytes, Files& message);
bool Decode(std::string_view bytes, Resize& message);
bool Decode(std::string_view bytes, NextPod& message);
bool Decode(std::string_view bytes, PodReady& message);
bool Decode(std::string_view bytes, OpenDirectory& message);
bool Decode(std::string_view bytes, Run& message);
bool Decode(std::string_view bytes, Fork& message);
bool Decode(std::string_view bytes, Ended& message);
bool Decode(std::string_view bytes, Failed& message);
bool Decode(std::string_view bytes, Built& message);

/// Its first byte; `bytes` is not empty.
inline MessageKind KindOf(std::string_view bytes) {
  return static_cast<MessageKind>(bytes[0]);
}

const char* StageName(Stage stage);

}  // namespace polybox::jail::init

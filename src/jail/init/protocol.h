// The messages between the server, a slot init and its cells, over SEQPACKET sockets. Descriptors
// are sent beside the bytes; "+" stands before them:
//
//   server                                 slot init
//   Setup{operations} + trees       ─▸     builds the slot's root, once
//                                   ◂─     Built{shared} [+ the egress listener] | Failed
//   Files{...} + content            ─▸     writes the run's files into the working directory
//                                   ◂─     Done | Failed
//   Resize{bytes, inodes}           ─▸     gives the scratch space another size
//                                   ◂─     Done | Failed
//   NextCell{...} + cgroups          ─▸     makes the cell for the next run, after ending the last
//                                   ◂─     CellReady{pids} + its socket, pidfd, directory | Failed
//   Reap                            ─▸     ends the cell
//                                   ◂─     Ended{usage}
//   Wipe                            ─▸     ends the cell, empties the scratch space, renews the
//                                          network
//                                   ◂─     Done [+ the new egress listener] | Failed
//   OpenDirectory{name, ...}        ─▸     opens a directory of the working directory
//                                   ◂─     Done + its descriptor | Failed
//
//   server                                 cell
//                                   ◂─     Done, from an interpreter that was executed there ahead
//                                          of its program: it is ready
//   Run{argv, limits, ...} + stdio  ─▸     the process that waits in it becomes the guest
//                                   ◂─     Failed, from that process, or Ended{status, usage} from
//                                          the cell's init
//
//   server                                 slot init of a lease, which makes no cells
//   OpenLease + the lease's socket  ─▸     makes the lease init
//                                   ◂─     Done + its pidfd [+ the egress listener] | Failed
//
//   server                                 lease init
//                                   ◂─     Done | Failed
//   StartProcess{...} + socket,     ─▸     makes the supervisor of the process
//     streams, cgroups
//   SealPaths{paths} + socket       ─▸     gives files of the writable trees mounts of their own
//                                   ◂─     Sealed{errors}, over the socket of the message
//
//   server                                 supervisor, over the socket of its process
//                                   ◂─     Started [+ the terminal] | Failed
//   SendSignal{number}              ─▸     signals the main process, if it still runs
//   EndTree                         ─▸     ends all processes of the tree
//                                   ◂─     Ended{status, usage}, when the main process has ended
//                                   ◂─     TreeEnded{usage}, when no process of the tree is left
//
//   cell                                    zygote, an interpreter that has started already
//                                   ◂─     Done, to the slot init: it is ready to fork
//   Done + its stat and maps        ─▸     from the slot init: what it looks like in /proc
//   Fork{cgroups} + namespaces      ─▸     forks the process that waits in the cell
//
// When the server closes its end, the slot init ends the slot. Used by the server, the slot init
// and the warm library: no dependency beyond wire.h.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/time.h>

#include "base/wire.h"

namespace polybox::jail::init {

using wire::Reader;
using wire::SmallMessage;

enum class MessageKind : std::uint8_t {
  kSetup,
  kFiles,
  kResize,
  kNextCell,
  kReap,
  kWipe,
  kOpenDirectory,
  kRun,
  kFork,
  kDone,
  kFailed,
  kCellReady,
  kEnded,
  kBuilt,
  kOpenLease,
  kStartProcess,
  kStarted,
  kSendSignal,
  kEndTree,
  kTreeEnded,
  kSealPaths,
  kSealed
};

/// The largest message. The arguments and the environment of a program must fit.
inline constexpr std::size_t kLargestMessage = 192 * 1024;
inline constexpr std::size_t kMostDescriptors = 240;

/// The guest's PID in its cell: the first after the cell's init.
inline constexpr pid_t kGuestPid = 2;
/// The PID of a process that helps to make a guest. Any number will do that the guest's children do
/// not get soon.
inline constexpr pid_t kHelperPid = 300;

/// The port at which guests with egress find the proxy.
inline constexpr std::uint16_t kEgressPort = 3128;

// Constants for an interpreter that is started ahead: see warm/library.h. The descriptors are above
// those that the interpreter opens by itself, so its own numbers are the same as in a cold start.
// The descriptors still fit in the smallest descriptor table of the kernel (64).
inline constexpr int kWarmWord = 61;
inline constexpr int kWarmSocket = 62;
inline constexpr int kWarmStarted = 63;
inline constexpr const char* kWarmDirectory = "/.warm";
inline constexpr const char* kWarmLibrary = "/.warm/library";
inline constexpr const char* kWarmVariable = "POLYBOX_AHEAD";

/// The signal that makes a cell's init kill and reap all other processes of its PID namespace, and
/// exit. A guest that can send it kills nobody but itself.
inline constexpr int kKillAll = SIGALRM;

/// What a step of building the slot's root does.
enum class OperationKind : std::uint8_t {
  kRoot,          ///< Mounts a new tmpfs root over `/proc`; the current directory is in it from
                  ///< here on.
  kDirectory,     ///< mkdir -p target.
  kSymlink,       ///< target -> source.
  kFile,          ///< Writes a small file with the content `source`.
  kBind,          ///< Mounts the tree of descriptor `tree`, or the path `source`, on target.
  kTmpfs,         ///< Mounts a tmpfs with limits of size and inodes on target.
  kKeepProc,      ///< Keeps the host's /proc mounted where no path leads to it: see plan.cc.
  kPivot,         ///< Makes the new root `/` and unmounts the old one.
  kReadOnlyRoot,  ///< Makes the root read-only.
  kHostName,      ///< Sets the host name to `source`.
  kEgress,        ///< Brings the loopback interface up, with a listener on port kEgressPort for the
                  ///< server.
  kStage,         ///< Mounts `tree` where only a kBind can reach it, by a relative `source`.
  kCopy,          ///< Writes a file with the content of descriptor `tree`.
  kLoopback,      ///< Brings the loopback interface up.
  kTerminals,     ///< Mounts an instance of devpts on target.
};

/// Paths are relative to the new root. `tree` is an index into the descriptors of the message.
struct Operation {
  OperationKind kind = OperationKind::kRoot;
  std::string target;
  std::string source;
  std::int32_t tree = -1;
  /// The MS_* flags of a mount.
  std::uint64_t flags = 0;
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  std::uint32_t mode = 0;
  /// kBind: the target is a file, not a directory.
  bool is_file = false;
  /// kBind: the slot gets inodes of its own, so that locks and watches on them reach no other slot.
  bool own = false;
  /// kBind: the directory with the directories `upper` and `work` of an overlay over the tree, as a
  /// descriptor or as a path; -1 and "" for no such overlay.
  std::int32_t changes_tree = -1;
  std::string changes = {};
  /// kBind: a guest of an earlier lease may have made the target or a directory above it. The
  /// target must exist, and no link is followed to it.
  bool in_writable = false;

  bool operator==(const Operation&) const = default;
};

/// What separates a guest from the host.
enum class Walls : std::uint8_t {
  kNamespaces,
  kLandlock,  ///< No namespaces: Landlock and the filter.
  kNothing,   ///< Process control only.
};

/// What Landlock allows on `path` and below it. A relative path is below the slot's directory.
struct PathRule {
  std::string path;
  /// LANDLOCK_ACCESS_FS_*
  std::uint64_t rights = 0;

  bool operator==(const PathRule&) const = default;
};

/// Further settings of a slot without namespaces.
struct Bare {
  Walls walls = Walls::kNamespaces;
  /// The slot's own directory on the host; the targets of operations are relative to it.
  std::string home;
  /// The host uid of the guests. Processes that clean up after guests use the next lower uid. 0:
  /// guests and the slot init have the same uid.
  std::uint32_t uid = 0;
  /// Where not 0: the ids of an existing user, which the slot init takes for itself and the guests.
  std::uint32_t user = 0;
  std::uint32_t group = 0;
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
  kPrestart,  ///< An interpreter in every cell, which starts before the request comes.
};

/// How interpreters are started before they know their program: see warm/library.h.
struct WarmStart {
  WarmKind kind = WarmKind::kNone;
  std::vector<std::string> argv;
  std::vector<std::string> env;
  /// The program's path if `argv` names the program, so that the path must exist from the start;
  /// else "".
  std::string entry;
  /// The limits that apply from the start of the process.
  std::vector<ResourceLimit> limits;

  bool operator==(const WarmStart&) const = default;
};

struct Setup {
  std::vector<Operation> operations;
  /// Filters are arrays of sock_filter; an empty array is no filter. This one is for the slot init,
  /// and guests inherit it.
  std::string filter_of_slot;
  /// The filter that every guest installs in addition.
  std::string filter_of_guest;
  /// For tests of a failing setup: the operation that fails, -1 for none.
  std::int32_t fail_at = -1;
  /// Whether uid 0 of the namespace is mapped beside the guest's uid (grade full), or only the
  /// guest's uid (grade rootless).
  bool has_root = false;
  Bare bare;
  /// Only where there are namespaces.
  WarmStart warm;
  /// Whether the next session may use what the last session left as good as new: see reuse.h.
  bool reuse = true;
  /// The guests have the ids of a user of the host, perhaps root. For a lease: /proc is read-only.
  bool guards_proc = false;
};

/// Operation `index` could not give the slot something of its own; `error` is the reason. Guests
/// then share the inodes of a tree, or the host name, with the host.
struct SharedTree {
  std::int32_t index = -1;
  std::int32_t error = 0;
};

struct Built {
  std::vector<SharedTree> shared;
};

/// The new size of the working directory and of /tmp.
struct Resize {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;

  bool operator==(const Resize&) const = default;
};

/// Descriptors of the message, in order: `join_count` cgroup files, each of which a process joins
/// by writing "0"; then, if `clone_into`, the cgroup directory in which the guest is made.
struct NextCell {
  std::uint32_t join_count = 0;
  bool clone_into = false;
  /// Whether the guest should be an interpreter that has started already.
  bool warm = false;
  /// Nothing of any guest is in the slot, so a zygote may be started. Otherwise only a zygote that
  /// runs already can be used.
  bool between_sessions = false;
  /// A cgroup counts everything that a guest uses.
  bool counted = false;
};

/// The PIDs are those that the server sees. Descriptors of the message: the guest's socket, then
/// those that the server does not have yet of the pidfd of the cell's init, the working directory,
/// and the listener for the egress proxy.
struct CellReady {
  std::int32_t init = 0;
  std::int32_t guest = 0;
  /// The guest has started already, and gets its part of the filter together with its program.
  bool warm = false;
  /// The zygote that forked the guest; 0 or less if there is none.
  std::int32_t zygote = 0;
  bool new_init = true;
  bool new_work = true;
  bool new_egress = false;
  /// Whether the working directory could be opened.
  bool has_work = true;
};

/// Descriptors of the message, in order. First those of ForkFd. If `sets_number`, the file that
/// sets the last PID. If `moves`, the IPC and the network namespace that the zygote enters. Last
/// the cgroups, as in a NextCell message.
struct Fork {
  std::uint32_t join_count = 0;
  bool clone_into = false;
  bool moves = false;
  /// The guest must set the last PID to its own. The processes that helped to make it have higher
  /// PIDs, from kHelperPid on.
  bool sets_number = false;
};

enum ForkFd : std::uint8_t {
  kForkSocket,      ///< The cell's end of the guest's socket.
  kForkPids,        ///< The cell's PID namespace.
  kForkStarted,     ///< An eventfd, to which the guest writes when it has taken its program.
  kForkWord,        ///< The page of the guest's LastWord.
  kForkRelease,     ///< The write end of a pipe. Every process that helps to make the guest closes
                    ///< it when the guest exists, or when there will be no guest.
  kForkDescriptors  ///< The number of these descriptors.
};

/// Descriptors of the message: stdin, stdout, stderr.
struct Run {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory;
  std::vector<ResourceLimit> limits;
  /// Whether the program is for the interpreter that has started already. Otherwise `argv` replaces
  /// the interpreter.
  bool warm = false;
  /// The guest's part of the seccomp filter, for a warm guest that so far has only the slot's part;
  /// empty otherwise.
  std::string filter = {};
};

/// Starts a process of a lease. Descriptors of the message, in order: the supervisor's end of the
/// socket; stdin, stdout and stderr unless `terminal`; the cgroups as in a NextCell
/// message.
struct StartProcess {
  Run run;
  /// The process gets a new terminal of this size, in characters.
  bool terminal = false;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint32_t join_count = 0;
  bool clone_into = false;
};

/// A file or directory below a writable tree of a lease. It becomes a mount of its own, so that no
/// guest can rename, remove or replace it.
struct Seal {
  /// Absolute, in the jail. No component may be a symbolic link, except the last.
  std::string path;
  /// What the server has found at the path. Another file there is not sealed (ESTALE).
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  /// Whether the content can still be changed.
  bool writable = false;

  bool operator==(const Seal&) const = default;
};

/// Descriptor of the message: a socket for the answer. A path comes after the directories above it.
struct SealPaths {
  std::vector<Seal> paths;
};

struct SealResult {
  /// 0 or an errno.
  std::int32_t error = 0;

  bool operator==(const SealResult&) const = default;
};

/// One result for each path.
struct Sealed {
  std::vector<SealResult> results;
};

/// A signal for the main process.
struct SendSignal {
  std::int32_t number = 0;
};

/// What all processes of a tree used that has ended.
struct TreeEnded {
  std::uint64_t user_nanoseconds = 0;
  std::uint64_t system_nanoseconds = 0;
  std::uint64_t largest_resident_bytes = 0;
};

/// The path is relative to the working directory; "" is the working directory itself.
struct OpenDirectory {
  std::string name;
  /// Whether a run has ended. The slot init then first ends the remaining processes of the cell,
  /// which could change the files that the server will read.
  bool after_run = false;
};

/// How the guest ended, as reported by the cell's init.
struct Ended {
  /// The wait status from wait4().
  std::int32_t status = 0;
  std::uint64_t user_nanoseconds = 0;
  std::uint64_t system_nanoseconds = 0;
  /// The resident size of the largest process, from rusage. The figure of a cgroup is better where
  /// there is a cgroup.
  std::uint64_t largest_resident_bytes = 0;
  /// False when the guest ended before it took its program.
  bool started = true;
};

/// The step that failed. A static table in protocol.cc has a name for each.
enum class Stage : std::uint8_t {
  kMessage,     ///< A message could not be understood.
  kNamespaces,  ///< Creating or joining a namespace.
  kIdentity,    ///< Becoming uid 0 of the namespace.
  kOperation,   ///< Operation `index` of the plan.
  kFiles,       ///< Writing file `index`.
  kWipe,        ///< Emptying scratch directory `index`.
  kOpen,        ///< Opening a directory for the server.
  kNetwork,     ///< Making a network namespace for the next session.
  kCell,        ///< Making the cell: its namespaces, /proc and first processes.
  kCgroup,      ///< Joining cgroup `index`.
  kStdio,       ///< Putting the standard streams in place.
  kLimits,      ///< Resource limit `index`.
  kDrop,        ///< Giving up identity and capabilities.
  kLandlock,    ///< Putting Landlock on the guest; `index` is the rule.
  kSeccomp,     ///< Installing the filter.
  kDirectory,   ///< Entering the working directory.
  kExec,        ///< Executing the program.
  kWarm,        ///< Starting an interpreter ahead of its program.
  kTerminal,    ///< Making a terminal, or giving it to the process.
};

struct Failed {
  Stage stage = Stage::kMessage;
  std::int32_t error = 0;
  std::int32_t index = -1;
};

/// A file. With S_IFLNK in the mode it is a link to its content, with S_IFDIR a directory.
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

/// What a warm guest writes to the cell's eventfd when it takes its program: the processor time
/// that it has used until then, in microseconds. The word is never 0.
std::uint64_t PackUsedBefore(const timeval& user, const timeval& system);
struct UsedBefore {
  std::uint64_t user_nanoseconds = 0;
  std::uint64_t system_nanoseconds = 0;
};
UsedBefore UnpackUsedBefore(std::uint64_t word);

/// Each Encode() returns the bytes of a message. A SmallMessage is made without allocation, so
/// processes that share memory may use these encoders (raw.h).
std::string Encode(const Setup& message);
std::string Encode(const Files& message);
std::string Encode(const Resize& message);
std::string Encode(const NextCell& message);
std::string Encode(const CellReady& message);
std::string Encode(const OpenDirectory& message);
std::string Encode(const Run& message);
SmallMessage Encode(const Fork& message);
SmallMessage Encode(const Ended& message);
SmallMessage Encode(const Failed& message);
std::string Encode(const Built& message);
std::string Encode(const StartProcess& message);
std::string Encode(const SealPaths& message);
std::string Encode(const Sealed& message);
SmallMessage Encode(const SendSignal& message);
SmallMessage Encode(const TreeEnded& message);
/// A message without content.
SmallMessage Encode(MessageKind kind);

/// Each Decode() returns false when the bytes are not such a message.
bool Decode(std::string_view bytes, Setup& message);
bool Decode(std::string_view bytes, Files& message);
bool Decode(std::string_view bytes, Resize& message);
bool Decode(std::string_view bytes, NextCell& message);
bool Decode(std::string_view bytes, CellReady& message);
bool Decode(std::string_view bytes, OpenDirectory& message);
bool Decode(std::string_view bytes, Run& message);
bool Decode(std::string_view bytes, Fork& message);
bool Decode(std::string_view bytes, Ended& message);
bool Decode(std::string_view bytes, Failed& message);
bool Decode(std::string_view bytes, Built& message);
bool Decode(std::string_view bytes, StartProcess& message);
bool Decode(std::string_view bytes, SealPaths& message);
bool Decode(std::string_view bytes, Sealed& message);
bool Decode(std::string_view bytes, SendSignal& message);
bool Decode(std::string_view bytes, TreeEnded& message);

/// The kind is the first byte; `bytes` must not be empty.
inline MessageKind KindOf(std::string_view bytes) {
  return static_cast<MessageKind>(bytes[0]);
}

const char* StageName(Stage stage);

}  // namespace polybox::jail::init

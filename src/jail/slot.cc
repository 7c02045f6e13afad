#include "jail/slot.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/scope_exit.h"
#include "jail/bare_plan.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/init_image.h"
#include "jail/plan.h"

namespace polybox::jail {
namespace {

// Host uids of guests: far from those of people and of subordinate ranges. Two per slot (the
// namespace's root and the guest), 256 per server, servers apart by their pid.
constexpr unsigned kFirstUid = 0x70000000;

unsigned SlotUid(unsigned number) {
  const auto server = static_cast<unsigned>(::getpid()) & 0xFFFFU;
  return kFirstUid + server * 256 + (number % 128) * 2;
}

struct Started {
  pid_t pid = -1;
  UniqueFd socket;
};

/// Starts the slot init with its end of the socket as descriptor 3.
Result<Started> StartInit(Grade grade) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd image, InitExecutable());
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno("make a socket for the slot init");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const ScopeExit destroy([&] { posix_spawn_file_actions_destroy(&actions); });
  // Above the numbers that they go to, so that neither overwrites the other.
  const UniqueFd high_socket(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 10));
  const UniqueFd high_image(::fcntl(image.get(), F_DUPFD_CLOEXEC, 10));
  posix_spawn_file_actions_adddup2(&actions, high_socket.get(), 3);
  posix_spawn_file_actions_adddup2(&actions, high_image.get(), 4);
  // Nothing else of ours goes along, not even what we inherited without close-on-exec ourselves.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, 5);
  // What we block (to read it from a descriptor, say) is no business of the guest's.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const ScopeExit destroy_attributes([&] { posix_spawnattr_destroy(&attributes); });
  sigset_t no_signals;
  ::sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = "polybox-slot";
  std::string argument = "without-namespaces";
  char* second = HasNamespaces(grade) ? nullptr : argument.data();
  std::array<char*, 3> argv = {name.data(), second, nullptr};
  std::array<char*, 1> env = {nullptr};
  pid_t pid = -1;
  const std::string path = "/proc/self/fd/4";
  const int failed =
      ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), env.data());
  if (failed != 0) return Error::FromErrno("start the slot init", failed);
  return Started{pid, std::move(ours)};
}

Status WriteMap(pid_t pid, const char* file, const std::string& text) {
  const std::string path = fmt::format("/proc/{}/{}", pid, file);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
  return WriteAll(fd.get(), text).In("write " + path);
}

/// Made by root, the namespace's root and the guest are two host uids of the slot's own; otherwise
/// the guest is us.
Status MapIds(pid_t pid, bool privileged, unsigned number) {
  // It can be written once, by anyone, and stays: the first guest's word to all later ones, unless
  // we are first.
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "projid_map", "0 0 1\n"));
  if (privileged) {
    const unsigned uid = SlotUid(number);
    const std::string map = fmt::format("0 {} 1\n65534 {} 1\n", uid, uid + 1);
    POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", map));
    return WriteMap(pid, "gid_map", map);
  }
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "setgroups", "deny"));
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", fmt::format("65534 {} 1\n", ::geteuid())));
  return WriteMap(pid, "gid_map", fmt::format("65534 {} 1\n", ::getegid()));
}

/// A detached copy of a part of the host's file tree, with the flags that guests see it with.
Result<UniqueFd> OpenTree(const Tree& tree, bool is_device) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, tree.source.c_str(),
                                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
  if (!fd.valid()) return Error::FromErrno("open the tree " + tree.source);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_RDONLY;
  attributes.attr_set |= is_device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
  if (::syscall(SYS_mount_setattr, fd.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                sizeof attributes) != 0) {
    return Error::FromErrno("make read-only " + tree.source);
  }
  return fd;
}

std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, bool has_cgroup) {
  // Whole seconds of one process: with a cgroup only a backstop behind the watcher, which counts
  // all of them.
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count() + (has_cgroup ? 1 : 0);
  std::vector<init::ResourceLimit> all = {
      {RLIMIT_AS, limits.address_space.count()},
      {RLIMIT_FSIZE, limits.file_size.count()},
      {RLIMIT_NOFILE, static_cast<std::uint64_t>(limits.open_files)},
      {RLIMIT_STACK, limits.stack.count()},
      {RLIMIT_CPU, static_cast<std::uint64_t>(seconds)},
      {RLIMIT_CORE, 0},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_RTPRIO, 0}};
  // Per uid and user namespace: the slot's own. With a cgroup, that counts better.
  if (!has_cgroup) all.push_back({RLIMIT_NPROC, static_cast<std::uint64_t>(limits.processes)});
  return all;
}

std::uint64_t Count(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

std::string Sentence(const init::Failed& failed, const std::string& step) {
  const std::string what = step.empty()
                               ? init::StageName(failed.stage)
                               : fmt::format("{} ({})", init::StageName(failed.stage), step);
  return fmt::format("{}: {}", what, std::generic_category().message(failed.error));
}

Outcome FromEnded(const init::Ended& ended) {
  Outcome outcome;
  switch (ended.kind) {
    case init::EndKind::kExited:
      outcome.end = End::kExited;
      break;
    case init::EndKind::kSignalled:
      outcome.end = End::kSignalled;
      break;
    case init::EndKind::kWallTime:
      outcome.end = End::kTimedOut;
      break;
    case init::EndKind::kCpuTime:
      outcome.end = End::kCpuLimit;
      break;
    case init::EndKind::kKilled:
      outcome.end = End::kCancelled;
      break;
  }
  outcome.exit_code = ended.exit_code;
  outcome.signal = ended.signal;
  outcome.wall = Duration(ended.wall_nanoseconds);
  outcome.cpu_user = Duration(ended.user_nanoseconds);
  outcome.cpu_system = Duration(ended.system_nanoseconds);
  outcome.memory_peak = Bytes(ended.largest_resident_bytes);
  return outcome;
}

}  // namespace

Slot::Slot(Slot&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      cgroup_(std::move(other.cgroup_)),
      home_(std::move(other.home_)),
      places_(std::move(other.places_)),
      steps_(std::move(other.steps_)) {}

Slot::~Slot() {
  if (pid_ < 0) return;
  socket_.reset();
  if (home_) AwaitEnd();
  ::kill(pid_, SIGKILL);  // its pod goes with it
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Slot::AwaitEnd() const {
  // It gives up after ten seconds itself, and then there is the scratch space.
  constexpr int kMostMilliseconds = 20'000;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd polled = {pidfd.get(), POLLIN, 0};
  while (pidfd.valid() && ::poll(&polled, 1, kMostMilliseconds) < 0 && errno == EINTR) {
  }
}

Result<Slot> Slot::Make(const SlotOptions& options) {
  std::optional<sys::SlotCgroup> cgroup;
  if (options.cgroups != nullptr) {
    POLYBOX_ASSIGN_OR_RETURN(cgroup,
                             options.cgroups->MakeSlot(fmt::format("slot-{}", options.number)));
  }
  POLYBOX_ASSIGN_OR_RETURN(Started started, StartInit(options.spec.grade));
  Slot slot(started.pid, std::move(started.socket), std::move(cgroup));
  POLYBOX_RETURN_IF_ERROR(slot.SetUp(options).In("make a slot"));
  return slot;
}

Status Slot::SetUp(const SlotOptions& options) {
  POLYBOX_RETURN_IF_ERROR(AwaitDone("unshare"));
  init::Setup setup;
  if (HasNamespaces(options.spec.grade)) {
    POLYBOX_RETURN_IF_ERROR(MapIds(pid_, options.spec.privileged, options.number));
    setup.has_root = options.spec.privileged;
  } else {
    POLYBOX_RETURN_IF_ERROR(UseScratchHome(options, setup));
  }
  if (cgroup_) {
    const uid_t uid = options.spec.privileged ? SlotUid(options.number) : ::geteuid();
    POLYBOX_RETURN_IF_ERROR(cgroup_->Adopt(pid_, uid));
  }
  const Plan plan = MakePlan(options.spec);
  std::vector<UniqueFd> owned;
  std::vector<int> trees;
  for (const Tree& tree : plan.trees) {
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd fd, OpenTree(tree, tree.target.starts_with("/dev/")));
    trees.push_back(fd.get());
    owned.push_back(std::move(fd));
  }
  for (const init::Operation& operation : plan.operations) steps_.push_back(Describe(operation));
  const auto filter = options.seccomp.instructions();
  setup.operations = plan.operations;
  setup.bare.rules = plan.rules;
  setup.seccomp.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  setup.fail_at = options.fail_at;
  if (!init::Send(socket_.get(), init::Encode(setup), trees))
    return Error::FromErrno("send the plan");
  return AwaitDone("build");
}

Status Slot::UseScratchHome(const SlotOptions& options, init::Setup& setup) {
  const Spec& spec = options.spec;
  const bool own_uid = spec.privileged;
  POLYBOX_ASSIGN_OR_RETURN(
      ScratchHome home,
      ScratchHome::Make(options.number, own_uid ? Visitors::kOtherUids : Visitors::kNobody));
  home_.emplace(std::move(home));
  places_ = PlacesIn(spec, home_->path());
  setup.bare.walls =
      spec.grade == Grade::kLandlock ? init::Walls::kLandlock : init::Walls::kNothing;
  setup.bare.home = home_->path();
  setup.bare.uid = own_uid ? SlotUid(options.number) + 1 : 0;
  setup.bare.closed_trees = own_uid && HasClosedTrees(spec.trees);
  return {};
}

Status Slot::AwaitDone(const std::string& intent) const {
  init::Received received;
  if (!init::Receive(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init is gone");
  }
  if (init::KindOf(received.bytes) == init::MessageKind::kDone) return {};
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init does not make sense");
  }
  const auto index = static_cast<std::size_t>(failed.index);
  const bool known = failed.stage == init::Stage::kOperation && index < steps_.size();
  return Error(ErrorKind::kSystem, Sentence(failed, known ? steps_[index] : ""));
}

Status Slot::PutFiles(const std::vector<InputFile>& files) {
  const UniqueFd content(::memfd_create("polybox-files", MFD_CLOEXEC));
  if (!content.valid()) return Error::FromErrno("make a memfd for the files");
  init::Files message;
  message.directory = places_.work;
  for (const InputFile& file : files) {
    message.files.push_back({file.name, file.mode, file.content.size()});
    POLYBOX_RETURN_IF_ERROR(WriteAll(content.get(), file.content).In("pack " + file.name));
  }
  if (::lseek(content.get(), 0, SEEK_SET) != 0) return Error::FromErrno("rewind the files");
  if (!init::Send(socket_.get(), init::Encode(message), {content.get()})) {
    return Error::FromErrno("send the files");
  }
  return AwaitDone("write the files");
}

Status Slot::UseCgroup(const RunLimits& limits, init::Run& run, std::vector<int>& fds) {
  POLYBOX_RETURN_IF_ERROR(cgroup_->SetLimits({.memory = limits.memory,
                                              .swap = limits.swap,
                                              .processes = limits.processes,
                                              .cpu_per_second = limits.cpu_per_second}));
  POLYBOX_RETURN_IF_ERROR(cgroup_->ResetCounters());
  const std::vector<int> join = cgroup_->JoinFds();
  run.join_count = static_cast<std::uint32_t>(join.size());
  fds.insert(fds.end(), join.begin(), join.end());
  // On v1 there may be a directory as well, of no controller: not worth its price on every run.
  run.clone_into = cgroup_->capabilities().version == sys::CgroupVersion::kV2;
  if (run.clone_into) fds.push_back(cgroup_->CloneFd());
  run.watch_cpu = true;
  fds.push_back(cgroup_->CpuFd());
  fds.push_back(cgroup_->QuotaFd());
  return {};
}

Result<Outcome> Slot::Run(const RunRequest& request) {
  init::Run run;
  run.argv = request.argv;
  run.env = request.env;
  run.directory = request.directory;
  run.limits = ResourceLimits(request.limits, cgroup_.has_value());
  run.wall_nanoseconds = Count(request.limits.wall_time);
  run.cpu_nanoseconds = Count(request.limits.cpu_time);
  run.cpu_nanoseconds_per_second = Count(request.limits.cpu_per_second);
  run.one_cpu = request.one_cpu;
  std::vector<int> fds = {request.stdin_fd, request.stdout_fd, request.stderr_fd};
  run.scratch_bytes = request.limits.disk.count();
  run.scratch_inodes = static_cast<std::uint64_t>(request.limits.inodes);
  if (cgroup_) POLYBOX_RETURN_IF_ERROR(UseCgroup(request.limits, run, fds));
  if (!init::Send(socket_.get(), init::Encode(run), fds)) return Error::FromErrno("send the run");
  init::Received received;
  if (!init::Receive(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, "the slot init is gone");
  }
  init::Ended ended;
  if (init::Decode(received.bytes, ended)) {
    Outcome outcome = FromEnded(ended);
    FillUsage(outcome);
    // A run that was stopped had its processor limit lifted.
    const bool stopped = outcome.end != End::kExited && outcome.end != End::kSignalled;
    if (cgroup_ && stopped) POLYBOX_RETURN_IF_ERROR(cgroup_->DropLeftovers());
    return outcome;
  }
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, "the slot init does not make sense");
  }
  Outcome outcome;
  outcome.end = End::kSetupFailed;
  const std::string step = failed.stage == init::Stage::kExec ? request.argv[0] : "";
  outcome.setup_failure = Sentence(failed, step);
  return outcome;
}

void Slot::FillUsage(Outcome& outcome) const {
  if (!cgroup_) return;
  const Result<sys::CgroupUsage> usage = cgroup_->ReadUsage();
  if (!usage.ok()) return;
  if (usage->cpu_user) outcome.cpu_user = usage->cpu_user;
  if (usage->cpu_system) outcome.cpu_system = usage->cpu_system;
  outcome.memory_peak = usage->memory_peak;
  outcome.processes_peak = usage->processes_peak;
  outcome.oom_kills = usage->oom_kills.value_or(0);
  const bool killed = outcome.end == End::kSignalled && outcome.signal == SIGKILL;
  if (killed && outcome.oom_kills > 0) outcome.end = End::kOutOfMemory;
}

Status Slot::Reset() {
  if (!init::Send(socket_.get(), init::Encode(init::MessageKind::kWipe))) {
    return Error::FromErrno("ask for a wipe");
  }
  POLYBOX_RETURN_IF_ERROR(AwaitDone("wipe"));
  return cgroup_ ? cgroup_->DropLeftovers() : Status();
}

void Slot::Signal(int number) const {
  init::Send(socket_.get(), init::Encode(init::Signal{number}));
}

}  // namespace polybox::jail

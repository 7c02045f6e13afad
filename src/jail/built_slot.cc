#include "jail/built_slot.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/bare_plan.h"
#include "jail/from_cell.h"
#include "jail/id_map.h"
#include "jail/plan.h"
#include "jail/prepare.h"
#include "jail/start_init.h"
#include "sys/own_limits.h"

namespace polybox::jail {

BuiltSlot::BuiltSlot(pid_t pid, UniqueFd socket, std::optional<sys::SlotCgroup> cgroup)
    : pid_(pid), socket_(std::move(socket)), cgroup_(std::move(cgroup)) {}

BuiltSlot::BuiltSlot(BuiltSlot&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      cgroup_(std::move(other.cgroup_)),
      starter_(other.starter_),
      home_(std::move(other.home_)),
      places_(std::move(other.places_)),
      shares_uid_(other.shares_uid_),
      steps_(std::move(other.steps_)),
      shared_(std::move(other.shared_)),
      filter_(std::move(other.filter_)) {}

void BuiltSlot::End() {
  if (pid_ < 0) return;
  socket_.reset();
  if (home_) AwaitEnd();
  ::kill(pid_, SIGKILL);  // the kernel kills its cell and its zygote too
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void BuiltSlot::AwaitEnd() const {
  // The slot init gives up on descendants after ten seconds. Removing the scratch space takes time.
  constexpr int kMostMilliseconds = 20'000;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd polled = {pidfd.get(), POLLIN, 0};
  while (pidfd.valid() && ::poll(&polled, 1, kMostMilliseconds) < 0 && errno == EINTR) {
  }
}

Result<BuiltSlot> BuiltSlot::Make(const SlotOptions& options) {
  std::optional<sys::SlotCgroup> cgroup;
  if (options.cgroups != nullptr) {
    // A unique name: the kernel may still be removing the cgroup of the last slot of this number.
    static std::atomic<unsigned> made = 0;
    POLYBOX_ASSIGN_OR_RETURN(
        cgroup, options.cgroups->MakeSlot(fmt::format("slot-{}-{}", options.number, ++made)));
  }
  POLYBOX_ASSIGN_OR_RETURN(StartedInit started,
                           StartInit(options.spec.grade, cgroup ? &*cgroup : nullptr));
  BuiltSlot slot(started.pid, std::move(started.socket), std::move(cgroup));
  POLYBOX_RETURN_IF_ERROR(slot.Build(options).In("make a slot"));
  return slot;
}

Status BuiltSlot::Build(const SlotOptions& options) {
  POLYBOX_RETURN_IF_ERROR(AwaitDone("unshare"));
  init::Setup setup;
  if (HasNamespaces(options.spec.grade)) {
    POLYBOX_RETURN_IF_ERROR(MapIds(pid_, options.spec, options.number));
    setup.has_root = options.spec.privileged;
  } else {
    POLYBOX_RETURN_IF_ERROR(UseScratchHome(options, setup));
  }
  if (cgroup_) {
    starter_ = options.spec.privileged ? SlotUid(options.number) : ::geteuid();
    POLYBOX_RETURN_IF_ERROR(cgroup_->AllowStarter(starter_));
  }
  POLYBOX_ASSIGN_OR_RETURN(Prepared prepared,
                           Prepare(options.spec, GuestIdsOf(options.spec, options.number)));
  const Plan& plan = prepared.plan;
  shared_ = std::move(prepared.shared);
  std::vector<int> trees;
  for (const UniqueFd& tree : prepared.trees) trees.push_back(tree.get());
  for (const init::Operation& operation : plan.operations) steps_.push_back(Describe(operation));
  setup.operations = plan.operations;
  setup.bare.rules = plan.rules;
  setup.filter_of_slot = options.filter.of_slot.bytes();
  setup.filter_of_guest = filter_ = options.filter.of_guest.bytes();
  setup.fail_at = options.fail_at;
  setup.warm = options.spec.warm.start;
  setup.reuse = options.reuse;
  setup.guards_proc = options.spec.privileged && options.spec.user.has_value();
  if (!init::Send(socket_.get(), init::Encode(setup), trees))
    return Error::FromErrno("send the plan");
  return AwaitBuilt(plan.operations);
}

Status BuiltSlot::UseScratchHome(const SlotOptions& options, init::Setup& setup) {
  const Spec& spec = options.spec;
  const bool own_uid = spec.privileged;
  POLYBOX_ASSIGN_OR_RETURN(
      ScratchHome home,
      ScratchHome::Make(options.number, own_uid ? Visitors::kOtherUids : Visitors::kNobody));
  home_.emplace(std::move(home));
  places_ = PlacesIn(spec, home_->path());
  shares_uid_ = !own_uid || spec.user;
  setup.bare.walls =
      spec.grade == Grade::kLandlock ? init::Walls::kLandlock : init::Walls::kNothing;
  setup.bare.home = home_->path();
  if (own_uid && spec.user) {
    setup.bare.user = spec.user->uid;
    setup.bare.group = spec.user->gid;
    return {};
  }
  setup.bare.uid = own_uid ? spec.guest_uid.value_or(SlotUid(options.number) + 1) : 0;
  // Without this capability guests cannot reach anything in closed directories.
  setup.bare.closed_trees =
      own_uid && sys::HasCapability(CAP_DAC_READ_SEARCH) && HasClosedTrees(spec.trees);
  return {};
}

Status BuiltSlot::AwaitBuilt(const std::vector<init::Operation>& operations) {
  init::Received received;
  if (!init::Receive(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, "build: the slot init is gone");
  }
  init::Built built;
  if (!init::Decode(received.bytes, built)) return ToError("build", received);
  for (const init::SharedTree& tree : built.shared) {
    const init::Operation& operation = operations.at(static_cast<std::size_t>(tree.index));
    const bool named = operation.kind == init::OperationKind::kHostName;
    const std::string what = named ? "the host's name" : "/" + operation.target;
    shared_.push_back(fmt::format("{}: {}", what, std::generic_category().message(tree.error)));
  }
  return {};
}

Status BuiltSlot::AwaitDone(const std::string& intent) const {
  init::Received received;
  if (!init::ReceiveShort(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init is gone");
  }
  if (init::KindOf(received.bytes) == init::MessageKind::kDone) return {};
  return ToError(intent, received);
}

Error BuiltSlot::ToError(const std::string& intent, const init::Received& received) const {
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init does not make sense");
  }
  const auto index = static_cast<std::size_t>(failed.index);
  const bool known = failed.stage == init::Stage::kOperation && index < steps_.size();
  // Files for which there is no room are too many or too large: an error of the client.
  const bool no_room = failed.stage == init::Stage::kFiles && failed.error == ENOSPC;
  const std::string step = known ? steps_[index] : "";
  if (no_room) return Error(ErrorKind::kInvalid, Sentence(failed, step));
  return Error::FromErrno(FailedStep(failed, step), failed.error);
}

TaskCounter BuiltSlot::CountedBy() const {
  if (cgroup_) return TaskCounter::kCgroup;
  return shares_uid_ ? TaskCounter::kSharedUid : TaskCounter::kUid;
}

}  // namespace polybox::jail

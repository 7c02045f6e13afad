#include "sys/cgroup.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

constexpr std::array kV1Controllers = {"memory", "cpu", "cpuacct", "pids"};
/// v2 has cpu.stat, which replaces v1's cpuacct, without a controller.
constexpr std::array kV2Controllers = {"memory", "cpu", "pids"};
/// The smallest quota in microseconds that the kernel accepts.
constexpr std::int64_t kSmallestQuota = 1000;

using OnExisting = CgroupDirectory::OnExisting;

template <typename Wanted>
std::vector<std::string> Missing(const Wanted& wanted, const std::vector<std::string>& there) {
  std::vector<std::string> missing;
  for (const char* each : wanted) {
    if (std::ranges::count(there, each) == 0) missing.emplace_back(each);
  }
  return missing;
}

bool UsedOnV1(const std::string& controller) {
  return std::ranges::count(kV1Controllers, controller) != 0;
}

/// The hierarchies of the host that polybox can use, and the controllers that each version lacks.
struct Choice {
  std::vector<CgroupHierarchy> v1;  // only hierarchies with a controller that polybox uses
  std::vector<std::string> v1_missing;
  const CgroupHierarchy* v2 = nullptr;
  std::vector<std::string> v2_missing;
};

Choice Survey(const std::vector<CgroupHierarchy>& hierarchies) {
  Choice choice;
  std::vector<std::string> on_v1;
  for (const CgroupHierarchy& hierarchy : hierarchies) {
    if (hierarchy.version == CgroupVersion::kV2) {
      choice.v2 = &hierarchy;
      continue;
    }
    CgroupHierarchy used = hierarchy;
    std::erase_if(used.controllers, [](const std::string& each) { return !UsedOnV1(each); });
    if (used.controllers.empty()) continue;
    on_v1.insert(on_v1.end(), used.controllers.begin(), used.controllers.end());
    choice.v1.push_back(std::move(used));
  }
  choice.v1_missing = Missing(kV1Controllers, on_v1);
  choice.v2_missing =
      Missing(kV2Controllers, choice.v2 ? choice.v2->controllers : std::vector<std::string>());
  return choice;
}

/// Every process that uses the home holds this lock. SweepLeftovers() then leaves the home alone,
/// even if the sweeping server cannot see this process. The kernel releases the lock when the last
/// descriptor is closed.
Status LockHome(const CgroupDirectory& home) {
  if (::flock(home.fd(), LOCK_SH | LOCK_NB) != 0) return Error::FromErrno("lock " + home.path());
  return {};
}

Result<CgroupDirectory> MakeHome(const std::string& base_path, int base) {
  POLYBOX_ASSIGN_OR_RETURN(const std::string name, CgroupHomeName());
  // The name is unique to this process, so an existing directory is its own.
  POLYBOX_ASSIGN_OR_RETURN(auto home,
                           CgroupDirectory::Make(base, base_path, name, OnExisting::kAccept));
  POLYBOX_RETURN_IF_ERROR(LockHome(home));
  return home;
}

Result<std::string> ReadIn(int directory, const char* name) {
  const UniqueFd file(::openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno(fmt::format("open {}", name));
  return ReadAll(file.get(), Bytes::MiB(1)).In(name);
}

Status WriteIn(int directory, const std::string& name, std::string_view value) {
  const UniqueFd file(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("open " + name);
  return WriteAll(file.get(), value).In(fmt::format("write {} to {}", value, name));
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t start = text.find_first_not_of(" \n");
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    words.emplace_back(text.substr(0, text.find_first_of(" \n")));
    text.remove_prefix(words.back().size());
  }
}

/// Empties a v2 cgroup that holds only this process. The kernel's root cgroup may keep its
/// processes. This function does not move other processes: the server does not own them.
Status LeaveForControllers(int base, const std::string& path) {
  if (::faccessat(base, "cgroup.type", F_OK, 0) != 0) return {};  // the root has no type
  POLYBOX_ASSIGN_OR_RETURN(const std::string listed, ReadIn(base, "cgroup.procs"));
  std::vector<std::string> others = Words(listed);
  const bool inside = std::erase(others, std::to_string(::getpid())) != 0;
  if (!others.empty()) {
    others.resize(std::min<std::size_t>(others.size(), 5));
    return Error(ErrorKind::kUnavailable,
                 fmt::format("cgroup {} cannot pass on controllers while it holds other processes "
                             "({}): start polybox in a cgroup of its own (systemd: Delegate=yes)",
                             path, fmt::join(others, ", ")));
  }
  if (!inside) return {};
  if (::mkdirat(base, kSelfLeaf, 0755) != 0 && errno != EEXIST) {
    return Error::FromErrno(fmt::format("make cgroup {}/{} to move to", path, kSelfLeaf));
  }
  return WriteIn(base, fmt::format("{}/cgroup.procs", kSelfLeaf), "0")
      .In(fmt::format("move from cgroup {} to {} in it", path, kSelfLeaf));
}

Result<CgroupDirectory> MakeV2Home(const CgroupHierarchy& hierarchy) {
  const std::string path = CgroupBase(hierarchy);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd base, OpenDirectory(AT_FDCWD, path));
  POLYBOX_RETURN_IF_ERROR(EnableControllers(base.get(), path));
  POLYBOX_ASSIGN_OR_RETURN(auto home, MakeHome(path, base.get()));
  POLYBOX_RETURN_IF_ERROR(EnableControllers(home.fd(), home.path()));
  return home;
}

Result<V2Directories> MakeV2Directories(CgroupDirectory slot) {
  POLYBOX_RETURN_IF_ERROR(EnableControllers(slot.fd(), slot.path()));
  POLYBOX_ASSIGN_OR_RETURN(auto starter, CgroupDirectory::Make(slot.fd(), slot.path(), "starter"));
  POLYBOX_ASSIGN_OR_RETURN(auto run, CgroupDirectory::Make(slot.fd(), slot.path(), "run"));
  return V2Directories{std::move(slot), std::move(starter), std::move(run)};
}

/// Makes a v2 home that is used beside v1 controllers, only for cgroup.kill.
std::optional<CgroupDirectory> MakeKillHome(const CgroupHierarchy& hierarchy) {
  const std::string path = CgroupBase(hierarchy);
  const auto base = OpenDirectory(AT_FDCWD, path);
  if (!base.ok()) return std::nullopt;
  auto home = MakeHome(path, base->get());
  if (!home.ok()) return std::nullopt;
  return std::move(home).value();
}

Result<std::vector<V1Directory>> MakeV1Homes(const std::vector<CgroupHierarchy>& hierarchies) {
  std::vector<V1Directory> homes;
  for (const CgroupHierarchy& hierarchy : hierarchies) {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd base, OpenDirectory(AT_FDCWD, hierarchy.own_directory));
    POLYBOX_ASSIGN_OR_RETURN(auto home, MakeHome(hierarchy.own_directory, base.get()));
    homes.push_back({hierarchy.controllers, std::move(home)});
  }
  return homes;
}

}  // namespace

struct CgroupHome::Directories {
  std::vector<V1Directory> v1;
  std::optional<CgroupDirectory> v2;
};

CgroupHome::CgroupHome(std::unique_ptr<Directories> directories)
    : directories_(std::move(directories)) {}
CgroupHome::CgroupHome(CgroupHome&&) noexcept = default;
CgroupHome& CgroupHome::operator=(CgroupHome&&) noexcept = default;
CgroupHome::~CgroupHome() = default;

Result<CgroupHome> CgroupHome::Make(const std::vector<CgroupHierarchy>& hierarchies) {
  const Choice choice = Survey(hierarchies);
  auto directories = std::make_unique<Directories>();
  if (choice.v2 && choice.v2_missing.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(directories->v2, MakeV2Home(*choice.v2));
    return CgroupHome(std::move(directories));
  }
  if (!choice.v1_missing.empty()) {
    return Error(ErrorKind::kUnavailable, fmt::format("no usable cgroups: v1 lacks {}; v2 lacks {}",
                                                      fmt::join(choice.v1_missing, ", "),
                                                      fmt::join(choice.v2_missing, ", ")));
  }
  POLYBOX_ASSIGN_OR_RETURN(directories->v1, MakeV1Homes(choice.v1));
  if (choice.v2) directories->v2 = MakeKillHome(*choice.v2);
  return CgroupHome(std::move(directories));
}

Result<SlotCgroup> CgroupHome::MakeSlot(const std::string& name) const {
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos) {
    return Error(ErrorKind::kInvalid, fmt::format("\"{}\" cannot name a cgroup", name));
  }
  std::optional<CgroupDirectory> v2;
  if (directories_->v2) {
    auto made = CgroupDirectory::Make(directories_->v2->fd(), directories_->v2->path(), name);
    if (!made.ok() && directories_->v1.empty()) return std::move(made).error();
    if (made.ok()) v2 = std::move(made).value();
  }
  if (directories_->v1.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(auto directories, MakeV2Directories(std::move(*v2)));
    POLYBOX_ASSIGN_OR_RETURN(auto control, OpenV2Slot(std::move(directories)));
    return SlotCgroup(std::move(control));
  }
  std::vector<V1Directory> v1;
  for (const V1Directory& home : directories_->v1) {
    POLYBOX_ASSIGN_OR_RETURN(
        auto made, CgroupDirectory::Make(home.directory.fd(), home.directory.path(), name));
    v1.push_back({home.controllers, std::move(made)});
  }
  POLYBOX_ASSIGN_OR_RETURN(auto control, OpenV1Slot(std::move(v1), std::move(v2)));
  return SlotCgroup(std::move(control));
}

Status EnableControllers(int directory, const std::string& path) {
  POLYBOX_ASSIGN_OR_RETURN(const std::string enabled,
                           ReadIn(directory, "cgroup.subtree_control").In(path));
  const std::vector<std::string> missing = Missing(kV2Controllers, Words(enabled));
  if (missing.empty()) return {};
  POLYBOX_RETURN_IF_ERROR(LeaveForControllers(directory, path));
  return WriteIn(directory, "cgroup.subtree_control", fmt::format("+{}", fmt::join(missing, " +")))
      .In("enable controllers below cgroup " + path);
}

Result<KernelLimits> ToKernel(const CgroupLimits& limits) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX);
  const std::uint64_t memory = limits.memory.count();
  const std::uint64_t swap = limits.swap.count();
  if (memory == 0 || memory > kMost || swap > kMost - memory) {
    return Error(ErrorKind::kInvalid, "cgroup memory limit out of range");
  }
  if (limits.processes < 1) {
    return Error(ErrorKind::kInvalid, "cgroup process limit must be at least 1");
  }
  const std::int64_t quota =
      limits.cpu_per_second / (std::chrono::seconds(1) / kCpuPeriod) / std::chrono::microseconds(1);
  if (quota < kSmallestQuota) {
    return Error(ErrorKind::kInvalid, "cgroup processor limit must be at least 10ms per second");
  }
  return KernelLimits{.memory = static_cast<std::int64_t>(memory),
                      .swap = static_cast<std::int64_t>(swap),
                      .memory_and_swap = static_cast<std::int64_t>(memory + swap),
                      .processes = limits.processes,
                      .cpu_quota = quota};
}

std::optional<std::uint64_t> PeakAbove(std::uint64_t before, std::uint64_t now) {
  return now > before ? std::optional(now) : std::nullopt;
}

std::optional<std::int64_t> ProcessesAbove(std::uint64_t before, std::uint64_t now) {
  const auto peak = now <= 1 ? now : PeakAbove(before, now);
  return peak ? std::optional(static_cast<std::int64_t>(*peak)) : std::nullopt;
}

Status SlotControl::StartPeriod() {
  return quota_.Rewrite().In("start a new processor period");
}

Status SlotControl::NextStep() {
  if (Renews()) POLYBOX_RETURN_IF_ERROR(Renew().In("make a cgroup anew"));
  return StartPeriod();
}

Status SlotControl::DropLeftovers(Inside inside) {
  POLYBOX_RETURN_IF_ERROR(DropCache());
  return inside == Inside::kNobody ? NextStep() : StartPeriod();
}

Status SlotControl::KillAll() {
  if (kill_.valid()) return kill_.Write("1");
  return Error(ErrorKind::kUnavailable,
               "kill a cgroup: cgroup.kill needs Linux 5.14 and a mounted cgroup v2");
}

SlotCgroup::SlotCgroup(std::unique_ptr<SlotControl> control) : control_(std::move(control)) {}
SlotCgroup::SlotCgroup(SlotCgroup&&) noexcept = default;
SlotCgroup& SlotCgroup::operator=(SlotCgroup&&) noexcept = default;
SlotCgroup::~SlotCgroup() = default;

const CgroupCapabilities& SlotCgroup::capabilities() const {
  return control_->capabilities();
}
int SlotCgroup::StarterFd() const {
  return control_->StarterFd();
}
Result<pid_t> SlotCgroup::Starter() const {
  return control_->Starter();
}
Status SlotCgroup::AllowStarter(uid_t owner) {
  return control_->AllowStarter(owner);
}
Status SlotCgroup::SetLimits(const CgroupLimits& limits) {
  limits_ = limits;
  return control_->SetLimits(limits);
}
Status SlotCgroup::MakeRoomToWait() {
  // Without limits_ no run has set a limit yet, so none has to be raised.
  if (!limits_ || limits_->memory >= kRoomToWait) return {};
  CgroupLimits roomy = *limits_;
  roomy.memory = kRoomToWait;
  return SetLimits(roomy).In("make room to wait");
}
Status SlotCgroup::ResetCounters() {
  return control_->ResetCounters();
}
bool SlotCgroup::Renews() const {
  return control_->Renews();
}
Status SlotCgroup::NextStep() {
  return control_->NextStep();
}
Status SlotCgroup::DropLeftovers(Inside inside) {
  return control_->DropLeftovers(inside);
}
Result<CgroupUsage> SlotCgroup::ReadUsage() const {
  return control_->ReadUsage();
}
std::vector<int> SlotCgroup::JoinFds() const {
  return control_->JoinFds();
}
int SlotCgroup::CloneFd() const {
  return control_->CloneFd();
}
Duration SlotCgroup::CpuTime() const {
  return control_->CpuTime();
}
void SlotCgroup::LiftCpuLimit() const {
  control_->LiftCpuLimit();
}
int SlotCgroup::OomFd() const {
  return control_->OomFd();
}
bool SlotCgroup::TakeOomEvent() {
  return control_->TakeOomEvent();
}
Status SlotCgroup::KillAll() {
  return control_->KillAll();
}
Result<SlotCgroup> SlotCgroup::MakeInner(const std::string& name) const {
  POLYBOX_ASSIGN_OR_RETURN(auto control, control_->MakeInner(name));
  return SlotCgroup(std::move(control));
}
Result<bool> SlotCgroup::KillRound() const {
  return control_->KillRound();
}

}  // namespace polybox::sys

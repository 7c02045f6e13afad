// cgroup v2: one directory has all files. Most counters only grow, so the value at the start of
// each run is remembered. For a peak that the kernel cannot reset, the directory is made anew.
#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

struct Counters {
  std::optional<std::uint64_t> user_us;
  std::optional<std::uint64_t> system_us;
  std::optional<std::uint64_t> oom_kills;
  std::optional<std::uint64_t> oom_group_kills;
  std::optional<std::uint64_t> memory_peak;
  std::optional<std::uint64_t> processes_peak;
};

class V2Slot : public SlotControl {
 public:
  explicit V2Slot(V2Directories directories)
      : slot_(std::move(directories.slot)),
        starter_(std::move(directories.starter)),
        directory_(std::move(directories.run)) {}

  Status Open();

  int StarterFd() const override { return starter_ ? starter_->fd() : -1; }
  Result<pid_t> Starter() const override;
  Status AllowStarter(uid_t owner) override;
  Status SetLimits(const CgroupLimits& limits) override;
  Status ResetCounters() override;
  bool Renews() const override;
  Result<CgroupUsage> ReadUsage() const override;
  std::vector<int> JoinFds() const override { return {}; }
  int CloneFd() const override { return directory_.fd(); }
  Duration CpuTime() const override;
  void LiftCpuLimit() const override { quota_.Lift("max"); }
  int OomFd() const override { return memory_events_.fd(); }
  bool TakeOomEvent() override;
  Result<std::unique_ptr<SlotControl>> MakeInner(const std::string& name) const override;
  Result<bool> KillRound() const override;

 protected:
  Status DropCache() override;
  Status Renew() override;

 private:
  Status OpenFiles();
  Status OpenLimits();
  Status OpenPeak();
  Status OpenReclaim();
  Status KillTheWholeRunAtOnce() const;
  Status Reclaim(std::uint64_t bytes) const;
  Status GiveToOwner(const CgroupDirectory& directory) const;
  Result<Counters> ReadCounters() const;

  std::optional<CgroupDirectory> slot_;
  std::optional<CgroupDirectory> starter_;
  CgroupDirectory directory_;
  std::optional<uid_t> owner_;
  std::optional<CgroupLimits> limits_;
  LimitFile memory_max_;
  LimitFile swap_max_;  // absent without swap accounting
  LimitFile pids_max_;
  ControlFile memory_current_;
  ControlFile memory_events_;
  ControlFile memory_peak_;     // from Linux 5.19
  bool peak_resets_ = false;    // from Linux 6.12; applies to this descriptor only
  ControlFile memory_reclaim_;  // from Linux 5.19
  ControlFile memory_high_;     // used where memory_reclaim_ is absent
  ControlFile pids_peak_;       // from Linux 6.1
  ControlFile cpu_stat_;
  Counters before_;
  std::uint64_t oom_kills_seen_ = 0;
};

Status V2Slot::OpenLimits() {
  POLYBOX_ASSIGN_OR_RETURN(auto memory, ControlFile::Open(directory_, "memory.max", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(auto swap,
                           ControlFile::OpenIfThere(directory_, "memory.swap.max", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(auto pids, ControlFile::Open(directory_, "pids.max", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(auto cpu, ControlFile::Open(directory_, "cpu.max", O_WRONLY));
  memory_max_ = LimitFile(std::move(memory));
  swap_max_ = LimitFile(std::move(swap));
  pids_max_ = LimitFile(std::move(pids));
  quota_ = LimitFile(std::move(cpu));
  return {};
}

Status V2Slot::OpenPeak() {
  POLYBOX_ASSIGN_OR_RETURN(memory_peak_,
                           ControlFile::OpenIfThere(directory_, "memory.peak", O_RDWR));
  // Before 6.12 root may open the file for writing, but the write fails.
  peak_resets_ = memory_peak_.valid() && memory_peak_.Write("0").ok();
  if (peak_resets_) return {};
  POLYBOX_ASSIGN_OR_RETURN(memory_peak_,
                           ControlFile::OpenIfThere(directory_, "memory.peak", O_RDONLY));
  return {};
}

Status V2Slot::OpenReclaim() {
  POLYBOX_ASSIGN_OR_RETURN(memory_reclaim_,
                           ControlFile::OpenIfThere(directory_, "memory.reclaim", O_WRONLY));
  if (memory_reclaim_.valid()) return {};
  POLYBOX_ASSIGN_OR_RETURN(memory_high_, ControlFile::Open(directory_, "memory.high", O_WRONLY));
  return {};
}

/// Makes the kernel kill the whole run when the memory limit kills one of its processes.
Status V2Slot::KillTheWholeRunAtOnce() const {
  POLYBOX_ASSIGN_OR_RETURN(const auto group,
                           ControlFile::OpenIfThere(directory_, "memory.oom.group", O_WRONLY));
  return group.valid() ? group.Write("1") : Status();
}

Status V2Slot::OpenFiles() {
  POLYBOX_RETURN_IF_ERROR(OpenLimits());
  POLYBOX_RETURN_IF_ERROR(OpenPeak());
  POLYBOX_RETURN_IF_ERROR(OpenReclaim());
  POLYBOX_RETURN_IF_ERROR(KillTheWholeRunAtOnce());
  POLYBOX_ASSIGN_OR_RETURN(memory_current_,
                           ControlFile::Open(directory_, "memory.current", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(memory_events_,
                           ControlFile::Open(directory_, "memory.events", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(pids_peak_, ControlFile::OpenIfThere(directory_, "pids.peak", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(cpu_stat_, ControlFile::Open(directory_, "cpu.stat", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(kill_, ControlFile::OpenIfThere(directory_, "cgroup.kill", O_WRONLY));
  capabilities_ = {.version = CgroupVersion::kV2,
                   .limits_swap = swap_max_.valid(),
                   .oom_event = true,
                   .counts_cpu = true,
                   .kill_all = kill_.valid()};
  return {};
}

Status V2Slot::Open() {
  POLYBOX_RETURN_IF_ERROR(OpenFiles());
  return ResetCounters();
}

/// Gives only the right to put processes into the cgroup; the limits still belong to the server.
Status V2Slot::GiveToOwner(const CgroupDirectory& directory) const {
  if (!owner_) return {};
  if (::fchownat(directory.fd(), "cgroup.procs", *owner_, static_cast<gid_t>(-1), 0) == 0) {
    return {};
  }
  return Error::FromErrno(fmt::format("give {}/cgroup.procs to uid {}", directory.path(), *owner_));
}

Result<pid_t> V2Slot::Starter() const {
  if (!starter_) return SlotControl::Starter();
  POLYBOX_ASSIGN_OR_RETURN(const auto processes,
                           ControlFile::Open(*starter_, "cgroup.procs", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t pid, processes.ReadNumber());
  return static_cast<pid_t>(pid);
}

Status V2Slot::AllowStarter(uid_t owner) {
  owner_ = owner;
  if (slot_) POLYBOX_RETURN_IF_ERROR(GiveToOwner(*slot_));
  return GiveToOwner(directory_);
}

Status V2Slot::SetLimits(const CgroupLimits& limits) {
  POLYBOX_ASSIGN_OR_RETURN(const KernelLimits kernel, ToKernel(limits));
  limits_ = limits;
  POLYBOX_RETURN_IF_ERROR(memory_max_.Set(kernel.memory).In("limit memory"));
  if (swap_max_.valid()) POLYBOX_RETURN_IF_ERROR(swap_max_.Set(kernel.swap).In("limit swap"));
  POLYBOX_RETURN_IF_ERROR(pids_max_.Set(kernel.processes).In("limit processes"));
  return quota_.Set(kernel.cpu_quota, fmt::format("{} {}", kernel.cpu_quota, kCpuPeriod.count()))
      .In("limit processor time");
}

Result<Counters> V2Slot::ReadCounters() const {
  Counters counters;
  POLYBOX_ASSIGN_OR_RETURN(const std::string cpu, cpu_stat_.Read());
  POLYBOX_ASSIGN_OR_RETURN(counters.user_us, cpu_stat_.CounterIn(cpu, "user_usec"));
  POLYBOX_ASSIGN_OR_RETURN(counters.system_us, cpu_stat_.CounterIn(cpu, "system_usec"));
  POLYBOX_ASSIGN_OR_RETURN(const std::string events, memory_events_.Read());
  POLYBOX_ASSIGN_OR_RETURN(counters.oom_kills, memory_events_.CounterIn(events, "oom_kill"));
  POLYBOX_ASSIGN_OR_RETURN(counters.oom_group_kills,
                           memory_events_.CounterIn(events, "oom_group_kill"));
  if (memory_peak_.valid()) {
    POLYBOX_ASSIGN_OR_RETURN(counters.memory_peak, memory_peak_.ReadNumber());
  }
  if (pids_peak_.valid()) {
    POLYBOX_ASSIGN_OR_RETURN(counters.processes_peak, pids_peak_.ReadNumber());
  }
  return counters;
}

Status V2Slot::ResetCounters() {
  if (peak_resets_) POLYBOX_RETURN_IF_ERROR(memory_peak_.Write("0"));
  POLYBOX_ASSIGN_OR_RETURN(before_, ReadCounters());
  oom_kills_seen_ = before_.oom_kills.value_or(0);
  return {};
}

/// Asks the kernel to reclaim memory. Lowering memory.max is no alternative, because it kills
/// processes when too little can be reclaimed.
Status V2Slot::Reclaim(std::uint64_t bytes) const {
  if (!memory_reclaim_.valid()) {
    POLYBOX_RETURN_IF_ERROR(memory_high_.Write("0"));
    return memory_high_.Write("max");
  }
  Status status = memory_reclaim_.Write(std::to_string(bytes));
  // EAGAIN: the kernel could not reclaim everything. The rest is kernel memory, which cannot be
  // reclaimed.
  if (!status.ok() && status.error().system_errno() == EAGAIN) return {};
  return status;
}

Status V2Slot::DropCache() {
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t usage, memory_current_.ReadNumber());
  if (usage <= kLeftoverAllowed.count()) return {};
  return Reclaim(usage).In("drop page cache");
}

/// A removed cgroup stays in the kernel as long as it has page cache, so the cache is dropped
/// first.
Status V2Slot::Renew() {
  POLYBOX_RETURN_IF_ERROR(DropCache());
  POLYBOX_ASSIGN_OR_RETURN(const bool renewed, directory_.Renew());
  if (!renewed) return {};
  POLYBOX_RETURN_IF_ERROR(OpenFiles());
  POLYBOX_RETURN_IF_ERROR(GiveToOwner(directory_));
  return limits_ ? SetLimits(CgroupLimits(*limits_)) : Status();
}

bool V2Slot::Renews() const {
  if (pids_peak_.valid() && pids_peak_.ReadNumber().value_or(0) > kLeastProcesses) return true;
  return memory_peak_.valid() && !peak_resets_;
}

Duration V2Slot::CpuTime() const {
  const auto used = cpu_stat_.ReadCounter("usage_usec");
  if (!used.ok() || !*used) return {};
  const std::uint64_t before = before_.user_us.value_or(0) + before_.system_us.value_or(0);
  return std::chrono::microseconds(static_cast<std::int64_t>(**used - std::min(before, **used)));
}

std::optional<std::uint64_t> Since(std::optional<std::uint64_t> before,
                                   std::optional<std::uint64_t> now) {
  if (!before || !now) return std::nullopt;
  return *now - std::min(*before, *now);
}

/// The kernel kills its victim and then every process in the cgroup. It counts the victim both
/// times, unless the victim was gone by then.
std::uint64_t KilledProcesses(std::uint64_t kills, std::uint64_t group_kills) {
  return kills == 0 ? 0 : std::max<std::uint64_t>(kills - std::min(kills, group_kills), 1);
}

Duration FromMicroseconds(std::uint64_t count) {
  return std::chrono::microseconds(static_cast<std::int64_t>(count));
}

Result<CgroupUsage> V2Slot::ReadUsage() const {
  POLYBOX_ASSIGN_OR_RETURN(const Counters now, ReadCounters());
  CgroupUsage usage;
  if (const auto user = Since(before_.user_us, now.user_us)) {
    usage.cpu_user = FromMicroseconds(*user);
  }
  if (const auto system = Since(before_.system_us, now.system_us)) {
    usage.cpu_system = FromMicroseconds(*system);
  }
  if (const auto kills = Since(before_.oom_kills, now.oom_kills)) {
    const auto groups = Since(before_.oom_group_kills, now.oom_group_kills);
    usage.oom_kills = static_cast<std::int64_t>(KilledProcesses(*kills, groups.value_or(0)));
  }
  if (now.memory_peak) {
    const auto peak = peak_resets_ ? now.memory_peak
                                   : PeakAbove(before_.memory_peak.value_or(0), *now.memory_peak);
    if (peak) usage.memory_peak = Bytes(*peak);
  }
  if (now.processes_peak) {
    usage.processes_peak = ProcessesAbove(before_.processes_peak.value_or(0), *now.processes_peak);
  }
  return usage;
}

bool V2Slot::TakeOomEvent() {
  // Reading the file also clears POLLPRI.
  const auto kills = memory_events_.ReadCounter("oom_kill");
  if (!kills.ok() || !kills->has_value() || **kills <= oom_kills_seen_) return false;
  oom_kills_seen_ = **kills;
  return true;
}

Result<std::unique_ptr<SlotControl>> V2Slot::MakeInner(const std::string& name) const {
  POLYBOX_RETURN_IF_ERROR(EnableControllers(directory_.fd(), directory_.path()));
  // When the limit of all inner cgroups together is reached, the kernel must not kill all of them.
  POLYBOX_ASSIGN_OR_RETURN(const auto group,
                           ControlFile::OpenIfThere(directory_, "memory.oom.group", O_WRONLY));
  if (group.valid()) POLYBOX_RETURN_IF_ERROR(group.Write("0"));
  POLYBOX_ASSIGN_OR_RETURN(auto made,
                           CgroupDirectory::Make(directory_.fd(), directory_.path(), name));
  return OpenV2Slot({std::nullopt, std::nullopt, std::move(made)});
}

Result<bool> V2Slot::KillRound() const {
  if (kill_.valid()) POLYBOX_RETURN_IF_ERROR(kill_.Write("1"));
  return KillMembers(directory_);
}

}  // namespace

Result<std::unique_ptr<SlotControl>> OpenV2Slot(V2Directories directories) {
  auto slot = std::make_unique<V2Slot>(std::move(directories));
  POLYBOX_RETURN_IF_ERROR(slot->Open());
  return std::unique_ptr<SlotControl>(std::move(slot));
}

}  // namespace polybox::sys

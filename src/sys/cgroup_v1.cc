// cgroup v1: one directory per controller, counters that can be reset, and OOM reported by an
// eventfd.
#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>

#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

struct MemoryFiles {
  LimitFile limit;
  LimitFile limit_with_swap;  // absent without swap accounting
  ControlFile usage;
  ControlFile peak;
  ControlFile fail_count;
  ControlFile force_empty;
  ControlFile oom_control;
};

struct CpuFiles {
  ControlFile total;
  ControlFile user;
  ControlFile system;
};

struct PidsFiles {
  LimitFile max;
  ControlFile peak;  // from Linux 6.1
};

bool IsOnlyPids(const V1Directory& directory) {
  return directory.controllers.size() == 1 && directory.controllers[0] == "pids";
}

class V1Slot : public SlotControl {
 public:
  V1Slot(std::vector<V1Directory> directories, std::optional<CgroupDirectory> kill_directory)
      : directories_(std::move(directories)), kill_directory_(std::move(kill_directory)) {}

  Status Open();

  Status SetLimits(const CgroupLimits& limits) override;
  Status ResetCounters() override;
  bool Renews() const override;
  Result<CgroupUsage> ReadUsage() const override;
  std::vector<int> JoinFds() const override;
  int CloneFd() const override { return kill_.valid() ? kill_directory_->fd() : -1; }
  Duration CpuTime() const override {
    return Duration(static_cast<std::int64_t>(cpu_.total.ReadNumber().value_or(0)));
  }
  void LiftCpuLimit() const override { quota_.Lift("-1"); }
  int OomFd() const override { return oom_event_.get(); }
  bool TakeOomEvent() override;
  Result<std::unique_ptr<SlotControl>> MakeInner(const std::string& name) const override;
  Result<bool> KillRound() const override;

 protected:
  Status DropCache() override;
  Status Renew() override;

 private:
  Result<const CgroupDirectory*> Find(const std::string& controller) const;
  Status OpenMemory();
  Status OpenCpu();
  Status OpenPids();
  Status RegisterOomEvent(const CgroupDirectory& memory);
  Status SetMemory(const KernelLimits& limits);
  Status SetQuota(std::int64_t quota);
  Status ReadCpu(CgroupUsage& usage) const;

  std::vector<V1Directory> directories_;
  std::optional<CgroupDirectory> kill_directory_;
  MemoryFiles memory_;
  CpuFiles cpu_;
  PidsFiles pids_;
  std::vector<ControlFile> tasks_;
  UniqueFd oom_event_;
  std::uint64_t oom_kills_before_ = 0;
  std::uint64_t processes_peak_before_ = 0;
};

Result<const CgroupDirectory*> V1Slot::Find(const std::string& controller) const {
  for (const V1Directory& each : directories_) {
    if (std::ranges::count(each.controllers, controller) != 0) return &each.directory;
  }
  return Error(ErrorKind::kUnavailable, "no cgroup v1 controller " + controller);
}

Status V1Slot::RegisterOomEvent(const CgroupDirectory& memory) {
  POLYBOX_ASSIGN_OR_RETURN(const ControlFile control,
                           ControlFile::OpenIfThere(memory, "cgroup.event_control", O_WRONLY));
  if (!control.valid()) return {};
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return Error::FromErrno("make an eventfd for memory.oom_control");
  POLYBOX_RETURN_IF_ERROR(
      control.Write(fmt::format("{} {}", event.get(), memory_.oom_control.fd())));
  oom_event_ = std::move(event);
  return {};
}

Status V1Slot::OpenMemory() {
  POLYBOX_ASSIGN_OR_RETURN(const CgroupDirectory* directory, Find("memory"));
  POLYBOX_ASSIGN_OR_RETURN(auto limit,
                           ControlFile::Open(*directory, "memory.limit_in_bytes", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(
      auto with_swap,
      ControlFile::OpenIfThere(*directory, "memory.memsw.limit_in_bytes", O_WRONLY));
  memory_.limit = LimitFile(std::move(limit));
  memory_.limit_with_swap = LimitFile(std::move(with_swap));
  POLYBOX_ASSIGN_OR_RETURN(memory_.usage,
                           ControlFile::Open(*directory, "memory.usage_in_bytes", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(memory_.peak,
                           ControlFile::Open(*directory, "memory.max_usage_in_bytes", O_RDWR));
  POLYBOX_ASSIGN_OR_RETURN(memory_.fail_count,
                           ControlFile::Open(*directory, "memory.failcnt", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(memory_.force_empty,
                           ControlFile::Open(*directory, "memory.force_empty", O_WRONLY));
  POLYBOX_ASSIGN_OR_RETURN(memory_.oom_control,
                           ControlFile::Open(*directory, "memory.oom_control", O_RDONLY));
  return RegisterOomEvent(*directory);
}

Status V1Slot::OpenCpu() {
  POLYBOX_ASSIGN_OR_RETURN(const CgroupDirectory* cpu, Find("cpu"));
  POLYBOX_ASSIGN_OR_RETURN(auto quota, ControlFile::Open(*cpu, "cpu.cfs_quota_us", O_WRONLY));
  quota_ = LimitFile(std::move(quota));
  POLYBOX_ASSIGN_OR_RETURN(const auto period,
                           ControlFile::Open(*cpu, "cpu.cfs_period_us", O_WRONLY));
  POLYBOX_RETURN_IF_ERROR(period.Write(std::to_string(kCpuPeriod.count())));
  POLYBOX_ASSIGN_OR_RETURN(const CgroupDirectory* account, Find("cpuacct"));
  POLYBOX_ASSIGN_OR_RETURN(cpu_.total, ControlFile::Open(*account, "cpuacct.usage", O_RDWR));
  POLYBOX_ASSIGN_OR_RETURN(cpu_.user,
                           ControlFile::OpenIfThere(*account, "cpuacct.usage_user", O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(cpu_.system,
                           ControlFile::OpenIfThere(*account, "cpuacct.usage_sys", O_RDONLY));
  return {};
}

Status V1Slot::OpenPids() {
  POLYBOX_ASSIGN_OR_RETURN(const CgroupDirectory* directory, Find("pids"));
  POLYBOX_ASSIGN_OR_RETURN(auto max, ControlFile::Open(*directory, "pids.max", O_WRONLY));
  pids_.max = LimitFile(std::move(max));
  POLYBOX_ASSIGN_OR_RETURN(pids_.peak, ControlFile::OpenIfThere(*directory, "pids.peak", O_RDONLY));
  return {};
}

Status V1Slot::Open() {
  POLYBOX_RETURN_IF_ERROR(OpenMemory());
  POLYBOX_RETURN_IF_ERROR(OpenCpu());
  POLYBOX_RETURN_IF_ERROR(OpenPids());
  for (const V1Directory& each : directories_) {
    POLYBOX_ASSIGN_OR_RETURN(auto tasks, ControlFile::Open(each.directory, "tasks", O_WRONLY));
    tasks_.push_back(std::move(tasks));
  }
  if (kill_directory_) {
    POLYBOX_ASSIGN_OR_RETURN(kill_,
                             ControlFile::OpenIfThere(*kill_directory_, "cgroup.kill", O_WRONLY));
  }
  capabilities_ = {.version = CgroupVersion::kV1,
                   .limits_swap = memory_.limit_with_swap.valid(),
                   .oom_event = oom_event_.valid(),
                   .counts_cpu = cpu_.user.valid() && cpu_.system.valid(),
                   .kill_all = kill_.valid()};
  return ResetCounters();
}

/// Sets both limits in an order that the kernel accepts: the memory limit may never exceed the
/// limit of memory and swap together.
Status V1Slot::SetMemory(const KernelLimits& limits) {
  if (!memory_.limit_with_swap.valid()) return memory_.limit.Set(limits.memory);
  const auto& before = memory_.limit_with_swap.written();  // absent: unlimited
  if (before && limits.memory_and_swap > *before) {
    POLYBOX_RETURN_IF_ERROR(memory_.limit_with_swap.Set(limits.memory_and_swap));
    return memory_.limit.Set(limits.memory);
  }
  POLYBOX_RETURN_IF_ERROR(memory_.limit.Set(limits.memory));
  return memory_.limit_with_swap.Set(limits.memory_and_swap);
}

/// The kernel refuses a quota above that of a parent cgroup with EINVAL. The slot's own quota is
/// then unnecessary, because the parent's stricter quota applies.
Status V1Slot::SetQuota(std::int64_t quota) {
  Status status = quota_.Set(quota);
  if (status.ok() || status.error().system_errno() != EINVAL) return status;
  return quota_.Set(quota, "-1");
}

Status V1Slot::SetLimits(const CgroupLimits& limits) {
  POLYBOX_ASSIGN_OR_RETURN(const KernelLimits kernel, ToKernel(limits));
  POLYBOX_RETURN_IF_ERROR(SetMemory(kernel).In("limit memory"));
  POLYBOX_RETURN_IF_ERROR(pids_.max.Set(kernel.processes).In("limit processes"));
  return SetQuota(kernel.cpu_quota).In("limit processor time");
}

Status V1Slot::ResetCounters() {
  TakeOomEvent();
  POLYBOX_RETURN_IF_ERROR(memory_.peak.Write("0"));
  POLYBOX_RETURN_IF_ERROR(memory_.fail_count.Write("0"));
  // The kernel then also resets its samples of time in user mode and in system mode.
  POLYBOX_RETURN_IF_ERROR(cpu_.total.Write("0"));
  POLYBOX_ASSIGN_OR_RETURN(const auto oom_kills, memory_.oom_control.ReadCounter("oom_kill"));
  oom_kills_before_ = oom_kills.value_or(0);
  if (!pids_.peak.valid()) return {};
  POLYBOX_ASSIGN_OR_RETURN(processes_peak_before_, pids_.peak.ReadNumber());
  return {};
}

/// Only the cgroup of the pids controller is made anew, and only in a hierarchy that pids shares
/// with no other controller. Elsewhere CgroupUsage::processes_peak may be absent.
bool V1Slot::Renews() const {
  if (!pids_.peak.valid() || pids_.peak.ReadNumber().value_or(0) <= kLeastProcesses) return false;
  return std::ranges::any_of(directories_, IsOnlyPids);
}

/// Makes the pids cgroup anew. When a process is still inside, the cgroup stays.
Status V1Slot::Renew() {
  const auto pids = std::ranges::find_if(directories_, IsOnlyPids);
  POLYBOX_ASSIGN_OR_RETURN(const bool renewed, pids->directory.Renew());
  if (!renewed) return {};
  const std::optional<std::int64_t> limit = pids_.max.written();
  POLYBOX_RETURN_IF_ERROR(OpenPids());
  const auto index = static_cast<std::size_t>(pids - directories_.begin());
  POLYBOX_ASSIGN_OR_RETURN(tasks_[index], ControlFile::Open(pids->directory, "tasks", O_WRONLY));
  return limit ? pids_.max.Set(*limit) : Status();
}

Status V1Slot::DropCache() {
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t usage, memory_.usage.ReadNumber());
  if (usage <= kLeftoverAllowed.count()) return {};
  return memory_.force_empty.Write("0").In("drop page cache");
}

/// Divides the exact total in proportion to the kernel's samples, as the kernel's cputime_adjust()
/// does.
Status V1Slot::ReadCpu(CgroupUsage& usage) const {
  if (!cpu_.user.valid() || !cpu_.system.valid()) return {};
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t total, cpu_.total.ReadNumber());
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t user, cpu_.user.ReadNumber());
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t system, cpu_.system.ReadNumber());
  const double share = system == 0 ? 0
                                   : static_cast<double>(system) /
                                         (static_cast<double>(user) + static_cast<double>(system));
  const auto exact = static_cast<std::int64_t>(total);
  const auto in_system = static_cast<std::int64_t>(share * static_cast<double>(exact));
  usage.cpu_system = Duration(in_system);
  usage.cpu_user = Duration(exact - in_system);
  return {};
}

Result<CgroupUsage> V1Slot::ReadUsage() const {
  CgroupUsage usage;
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t peak, memory_.peak.ReadNumber());
  usage.memory_peak = Bytes(peak);
  POLYBOX_RETURN_IF_ERROR(ReadCpu(usage));
  POLYBOX_ASSIGN_OR_RETURN(const auto oom_kills, memory_.oom_control.ReadCounter("oom_kill"));
  if (oom_kills) {
    usage.oom_kills =
        static_cast<std::int64_t>(*oom_kills - std::min(*oom_kills, oom_kills_before_));
  }
  if (!pids_.peak.valid()) return usage;
  POLYBOX_ASSIGN_OR_RETURN(const std::uint64_t processes, pids_.peak.ReadNumber());
  usage.processes_peak = ProcessesAbove(processes_peak_before_, processes);
  return usage;
}

std::vector<int> V1Slot::JoinFds() const {
  std::vector<int> fds;
  for (const ControlFile& tasks : tasks_) fds.push_back(tasks.fd());
  return fds;
}

bool V1Slot::TakeOomEvent() {
  std::uint64_t events = 0;
  return oom_event_.valid() && ::read(oom_event_.get(), &events, sizeof(events)) > 0;
}

Result<std::unique_ptr<SlotControl>> V1Slot::MakeInner(const std::string& name) const {
  std::vector<V1Directory> inner;
  for (const V1Directory& each : directories_) {
    POLYBOX_ASSIGN_OR_RETURN(
        auto made, CgroupDirectory::Make(each.directory.fd(), each.directory.path(), name));
    inner.push_back({each.controllers, std::move(made)});
  }
  return OpenV1Slot(std::move(inner), std::nullopt);
}

Result<bool> V1Slot::KillRound() const {
  POLYBOX_ASSIGN_OR_RETURN(const CgroupDirectory* pids, Find("pids"));
  return KillMembers(*pids);
}

}  // namespace

Result<std::unique_ptr<SlotControl>> OpenV1Slot(std::vector<V1Directory> directories,
                                                std::optional<CgroupDirectory> kill_directory) {
  auto slot = std::make_unique<V1Slot>(std::move(directories), std::move(kill_directory));
  POLYBOX_RETURN_IF_ERROR(slot->Open());
  return std::unique_ptr<SlotControl>(std::move(slot));
}

}  // namespace polybox::sys

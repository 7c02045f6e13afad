// bench_jail: what a jailed run costs beside a bare posix_spawn of the same program, in interleaved
// rounds.
//   bench_jail              latency at 0 and 60 ms gaps, throughput with two workers, slot
//   creation, memory bench_jail --soak N     N runs, then compares what they could have left
//   behind; exits 1 when something grew
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <spawn.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/files.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "sys/cgroup_tree.h"
#include "sys/command.h"

extern char** environ;  // POSIX leaves the declaration to us

namespace polybox::jail {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "bench_jail: {}\n", message);
  std::exit(1);
}

template <typename T>
T OrFail(Result<T> result) {
  if (!result.ok()) Fail(result.error().message());
  return std::move(result).value();
}

struct Bench {
  sys::CgroupHome home = OrFail(sys::CgroupHome::Make(sys::ReadCgroups()));
  GuestFilter filter = OrFail(BuiltinGuestFilter());
  Spec spec = HostSpec();
  UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};

  Slot Make(unsigned number) const {
    return OrFail(Slot::Make({.spec = spec, .filter = filter, .cgroups = &home, .number = number}));
  }

  void Jailed(Slot& slot) const {
    RunRequest request;
    request.argv = {"/usr/bin/true"};
    request.env = {"PATH=/usr/bin:/bin"};
    request.stdin_fd = request.stdout_fd = request.stderr_fd = null.get();
    const Outcome outcome = OrFail(slot.Run(request));
    if (outcome.end != End::kExited || outcome.exit_code != 0) Fail("the guest did not exit well");
  }
};

/// What waitpid() says.
int SpawnAndWait(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0)
    Fail("posix_spawn");
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

/// As a shell does it: a copy of this process that becomes the program.
void ForkAndWait() {
  char path[] = "/usr/bin/true";
  char* argv[] = {path, nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execve(path, argv, environ);
    ::_exit(127);
  }
  int status = -1;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || status != 0) Fail("fork and exec");
}

void Bare() {
  SpawnAndWait({"/usr/bin/true"});
}

template <typename Work>
double Time(const Work& work) {
  const auto begin = Clock::now();
  work();
  return Milliseconds(Clock::now() - begin).count();
}

double Percentile(std::vector<double> times, double part) {
  std::ranges::sort(times);
  return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
}

void Report(const std::string& name, const std::vector<double>& times, double baseline) {
  const double p50 = Percentile(times, 0.5);
  fmt::print("  {:34} p50 {:7.3f} ms  p90 {:7.3f} ms  {:5.2f} x bare\n", name, p50,
             Percentile(times, 0.9), p50 / baseline);
}

struct Peer {
  std::string name;
  std::vector<std::string> command;
};

/// What runc needs: a root file system and a description, in a directory that is removed at the
/// end.
class Bundle {
 public:
  Bundle() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "polybox-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) Fail("mkdtemp");
    path_ = pattern;
    for (const char* directory : {"usr", "proc", "tmp", "dev"}) {
      std::filesystem::create_directories(path_ / "rootfs" / directory);
    }
    std::filesystem::create_symlink("usr/lib", path_ / "rootfs/lib");
    std::filesystem::create_symlink("usr/lib64", path_ / "rootfs/lib64");
    std::ofstream(path_ / "config.json") << kConfig;
  }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;
  ~Bundle() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  static constexpr const char* kConfig = R"({"ociVersion": "1.0.0",
    "process": {"user": {"uid": 65534, "gid": 65534}, "args": ["/usr/bin/true"],
                "env": ["PATH=/usr/bin:/bin"], "cwd": "/", "noNewPrivileges": true},
    "root": {"path": "rootfs", "readonly": true}, "hostname": "sandbox",
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
               {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
               {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
                "options": ["nosuid", "nodev", "size=64m"]}],
    "linux": {"namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "mount"},
                             {"type": "network"}, {"type": "uts"}]}})";

  std::filesystem::path path_;
};

/// Peers that are installed here and work, each running the same program.
std::vector<Peer> Peers(const Bundle& bundle) {
  std::vector<Peer> peers;
  const std::string bwrap = sys::FindOnPath("bwrap", "/usr/bin:/bin");
  if (!bwrap.empty()) {
    peers.push_back({"bubblewrap --unshare-all",
                     {bwrap, "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib",
                      "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev",
                      "/dev", "--tmpfs", "/tmp", "/usr/bin/true"}});
  }
  const std::string runc = sys::FindOnPath("runc", "/usr/sbin:/usr/bin");
  if (!runc.empty()) {
    peers.push_back({"runc run",
                     {runc, "run", "--bundle", bundle.path().string(),
                      fmt::format("polybox-bench-{}", ::getpid())}});
  }
  std::erase_if(peers, [](const Peer& peer) {
    const bool works = SpawnAndWait(peer.command) == 0;
    if (!works) fmt::print("{} does not work here and is left out\n", peer.name);
    return !works;
  });
  return peers;
}

void Latency(const Bench& bench, std::chrono::milliseconds gap, int rounds) {
  Slot slot = bench.Make(0);
  std::vector<double> bare;
  std::vector<double> jailed;
  std::vector<double> with_reset;
  const Bundle bundle;
  const std::vector<Peer> peers = Peers(bundle);
  std::vector<std::vector<double>> peer_times(peers.size());
  for (int i = 0; i < rounds; ++i) {
    // sleeps: the gap between runs is a condition of the measurement.
    std::this_thread::sleep_for(gap);
    bare.push_back(Time(Bare));
    std::this_thread::sleep_for(gap);  // sleeps: as above
    const double run = Time([&] { bench.Jailed(slot); });
    const double reset = Time([&] {
      if (!slot.Reset().ok()) Fail("reset");
    });
    jailed.push_back(run);
    with_reset.push_back(run + reset);
    for (std::size_t p = 0; p < peers.size() && i % 10 == 0; ++p) {
      std::this_thread::sleep_for(gap);  // sleeps: as above
      peer_times[p].push_back(Time([&] { SpawnAndWait(peers[p].command); }));
    }
  }
  fmt::print("latency of /usr/bin/true, {} ms gaps, {} interleaved rounds\n", gap.count(), rounds);
  const double baseline = Percentile(bare, 0.5);
  Report("bare posix_spawn", bare, baseline);
  Report("jailed", jailed, baseline);
  Report("jailed, with the reset after it", with_reset, baseline);
  for (std::size_t p = 0; p < peers.size(); ++p) Report(peers[p].name, peer_times[p], baseline);
}

/// Runs per second of two workers for one second.
double Rate(const std::function<std::function<void()>(unsigned)>& make_worker) {
  std::atomic<int> runs = 0;
  std::atomic<bool> stop = false;
  std::vector<std::function<void()>> work = {make_worker(0), make_worker(1)};
  {
    std::vector<std::jthread> threads;
    for (const auto& once : work) {
      threads.emplace_back([&stop, &runs, once] {
        while (!stop) {
          once();
          ++runs;
        }
      });
    }
    // sleeps: this is the time over which the runs are counted.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stop = true;
  }
  return runs;
}

/// The same for workers that are processes: threads that fork wait for each other.
double RateOfProcesses(void (*once)()) {
  int counts[2];
  if (::pipe2(counts, O_CLOEXEC) != 0) Fail("pipe2");
  const auto end = Clock::now() + std::chrono::seconds(1);
  pid_t workers[2];
  for (pid_t& pid : workers) {
    pid = ::fork();
    if (pid < 0) Fail("fork");
    if (pid > 0) continue;
    int runs = 0;
    for (; Clock::now() < end; ++runs) once();
    ::_exit(::write(counts[1], &runs, sizeof runs) == sizeof runs ? 0 : 1);
  }
  ::close(counts[1]);
  int total = 0;
  for (const pid_t pid : workers) {
    int runs = 0;
    if (::read(counts[0], &runs, sizeof runs) != sizeof runs) Fail("a worker is gone");
    total += runs;
    ::waitpid(pid, nullptr, 0);
  }
  ::close(counts[0]);
  return total;
}

void Throughput(const Bench& bench, int rounds) {
  std::vector<double> bare;
  std::vector<double> forked;
  std::vector<double> jailed;
  std::vector<Slot> slots;
  slots.push_back(bench.Make(0));
  slots.push_back(bench.Make(1));
  for (int i = 0; i < rounds; ++i) {
    bare.push_back(Rate([](unsigned) { return Bare; }));
    forked.push_back(RateOfProcesses(ForkAndWait));
    jailed.push_back(Rate([&](unsigned worker) {
      return [&bench, slot = &slots[worker]] {
        bench.Jailed(*slot);
        if (!slot->Reset().ok()) Fail("reset");
      };
    }));
  }
  const double bare_rate = Percentile(bare, 0.5);
  const double forked_rate = Percentile(forked, 0.5);
  const double jailed_rate = Percentile(jailed, 0.5);
  fmt::print("throughput, two workers, median of {} seconds each\n", rounds);
  fmt::print("  {:34} {:7.0f} runs/s\n", "bare posix_spawn", bare_rate);
  fmt::print("  {:34} {:7.0f} runs/s\n", "bare fork and exec", forked_rate);
  fmt::print("  {:34} {:7.0f} runs/s  {:5.2f} of bare posix_spawn, {:.2f} of fork and exec\n",
             "jailed, two slots", jailed_rate, jailed_rate / bare_rate, jailed_rate / forked_rate);
}

/// A line of /proc/PID/status in KiB.
long StatusKib(pid_t pid, const std::string& key) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return std::strtol(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return 0;
}

void Creation(const Bench& bench, int rounds) {
  std::vector<double> times;
  long resident = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    const Slot slot = bench.Make(static_cast<unsigned>(i % 8));
    times.push_back(Milliseconds(Clock::now() - begin).count());
    resident = StatusKib(slot.pid(), "VmRSS");
  }
  fmt::print("slot creation              p50 {:.2f} ms  p90 {:.2f} ms; slot init {} KiB resident\n",
             Percentile(times, 0.5), Percentile(times, 0.9), resident);
}

std::size_t Entries(const std::string& directory) {
  std::error_code ignored;
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory, ignored), {}));
}

/// Everything a run could leave behind.
struct Footprint {
  std::size_t descriptors = Entries("/proc/self/fd");
  std::size_t processes = 0;
  std::size_t mounts = 0;
  std::size_t cgroups = 0;
  long own_kib = StatusKib(::getpid(), "VmRSS");
  long slot_kib = 0;

  explicit Footprint(const Slot& slot) : slot_kib(StatusKib(slot.pid(), "VmRSS")) {
    std::ifstream mountinfo(fmt::format("/proc/{}/mountinfo", slot.pid()));
    for (std::string line; std::getline(mountinfo, line);) ++mounts;
    std::ifstream host("/proc/self/mountinfo");
    for (std::string line; std::getline(host, line);) ++mounts;
    for (const sys::CgroupHierarchy& hierarchy : sys::ReadCgroups()) {
      std::error_code ignored;
      for (const auto& entry :
           std::filesystem::recursive_directory_iterator(hierarchy.own_directory, ignored)) {
        const bool ours =
            entry.path().string().find(fmt::format("polybox-{}-", ::getpid())) != std::string::npos;
        cgroups += entry.is_directory(ignored) && ours;
      }
    }
    std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
    for (pid_t pid = 0; children >> pid;) ++processes;
    std::ifstream inner(fmt::format("/proc/{}/task/{}/children", slot.pid(), slot.pid()));
    for (pid_t pid = 0; inner >> pid;) ++processes;
  }
};

bool Same(const char* what, std::size_t before, std::size_t after) {
  fmt::print("  {:24} {:6} before, {:6} after{}\n", what, before, after,
             before == after ? "" : "  GREW");
  return before == after;
}

bool Flat(const char* what, long before, long after) {
  constexpr long kNoiseKib = 512;
  const bool flat = after <= before + kNoiseKib;
  fmt::print("  {:24} {:6} KiB before, {:6} KiB after{}\n", what, before, after,
             flat ? "" : "  GREW");
  return flat;
}

int Soak(const Bench& bench, int runs) {
  Slot slot = bench.Make(0);
  const auto once = [&] {
    bench.Jailed(slot);
    if (!slot.Reset().ok()) Fail("reset");
  };
  for (int i = 0; i < 100; ++i) once();  // caches and allocators settle
  const Footprint before(slot);
  const auto begin = Clock::now();
  for (int i = 0; i < runs; ++i) once();
  const double seconds = Milliseconds(Clock::now() - begin).count() / 1000;
  const Footprint after(slot);
  fmt::print("{} runs in {:.1f} s\n", runs, seconds);
  bool well = Same("descriptors", before.descriptors, after.descriptors);
  well &= Same("processes and zombies", before.processes, after.processes);
  well &= Same("mounts", before.mounts, after.mounts);
  well &= Same("cgroups", before.cgroups, after.cgroups);
  well &= Flat("memory of the server", before.own_kib, after.own_kib);
  well &= Flat("memory of the slot init", before.slot_kib, after.slot_kib);
  return well ? 0 : 1;
}

}  // namespace
}  // namespace polybox::jail

int main(int argc, char** argv) {
  using namespace polybox::jail;  // NOLINT(google-build-using-namespace): this is a program
  const Bench bench;
  if (argc == 3 && std::string_view(argv[1]) == "--soak") return Soak(bench, std::atoi(argv[2]));
  Latency(bench, std::chrono::milliseconds(0), 400);
  Latency(bench, std::chrono::milliseconds(60), 60);
  Throughput(bench, 5);
  Creation(bench, 40);
}

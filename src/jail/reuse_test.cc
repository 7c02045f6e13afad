// The proof of all rules by which namespaces, file systems and cells are used again: whatever a
// guest does, the next guest finds what the first guest of a new slot finds, at once and two
// seconds later. After half of the sequences nobody looks at once: the end of that guest's session
// would remove what shows only later.
//
// POLYBOX_REUSE_SEQUENCES is the number of sequences of each of the 25 tests; POLYBOX_REUSE_SEED
// runs one sequence.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "jail/testing/allowed_calls.h"
#include "jail/testing/full_slot.h"
#include "jail/testing/reuse_facts.h"

namespace polybox::jail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kParts = 25;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSequences = 8;
#else
constexpr int kSequences = 80;
#endif
constexpr int kSteps = 40;
// How many slots at most wait for their two seconds while others are used.
constexpr int kMostSlots = 160;
constexpr auto kLater = std::chrono::seconds(2);
constexpr const char* kGuest = "/guest";
constexpr const char* kWays[] = {"passive", "active"};

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// How a slot starts its guests. Slots that start them ahead have another guest program.
struct Kind {
  const char* name;
  init::WarmKind warm;
};
// A thread's slots have these kinds in turn.
constexpr Kind kKinds[] = {
    {"cold", init::WarmKind::kNone},
    {"forked from a zygote", init::WarmKind::kZygote},
    {"cold", init::WarmKind::kNone},
    {"started ahead in its cell", init::WarmKind::kPrestart},
};
constexpr int kKindCount = std::size(kKinds);

void StartAhead(Spec& spec, init::WarmKind kind) {
  spec.trees.push_back({POLYBOX_REUSE_WARM_GUEST, kGuest, true});
  spec.warm.start.kind = kind;
  spec.warm.start.argv = {kGuest, kind == init::WarmKind::kZygote ? "zygote" : "prestart"};
  spec.warm.start.env = {"PATH=/usr/bin:/bin"};
  spec.warm.start.limits = {{RLIMIT_STACK, static_cast<std::uint64_t>(RunLimits().stack.count())}};
  // The guest is its own driver.
  spec.warm.file = std::string(kWarmDirectory) + "/driver";
  spec.warm.limits = GroupLimits(RunLimits());
}

/// A slot, with the sequence that it ran last.
struct Lane {
  Kind kind = kKinds[0];
  std::optional<Slot> slot;
  /// The seed of the sequence that waits for its last probe; 0 for none.
  std::uint64_t seed = 0;
  Clock::time_point due;
};

/// What a guest of a lane found, and whether the guest was warm.
struct Seen {
  std::vector<std::string> facts;
  bool warm = false;
};

class Reuse : public FullSlot, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    POLYBOX_SKIP_WITHOUT_REUSE();
    calls_ = AllowedCalls();
    for (const Kind& kind : kKinds) {
      for (int way = 0; way < 2; ++way) LearnExpected(kind, way);
    }
    first_ = Expected(kKinds[0], false, 1);
  }

  /// Records what the first guests of new slots find.
  void LearnExpected(const Kind& kind, int way) {
    for (const bool warm : {false, true}) {
      if (warm && kind.warm == init::WarmKind::kNone) continue;
      Lane lane = NewLane(1, kind);
      Seen seen = LookAs(lane, way, warm ? Start::kAhead : Start::kCold);
      ASSERT_EQ(seen.warm, warm) << kind.name;
      ASSERT_GT(seen.facts.size(), 1000U);
      by_kind_[{kind.warm, warm, way}] = std::move(seen.facts);
    }
  }

  const std::vector<std::string>& Expected(const Kind& kind, bool warm, int way) const {
    return by_kind_.at({kind.warm, warm, way});
  }

  Lane NewLane(unsigned number, const Kind& kind = kKinds[0]) {
    SlotOptions options = Options();
    options.number = number;
    Lane lane;
    lane.kind = kind;
    if (kind.warm == init::WarmKind::kNone) {
      options.spec.trees.push_back({POLYBOX_REUSE_GUEST, kGuest, true});
    } else {
      StartAhead(options.spec, kind.warm);
    }
    lane.slot.emplace(Slot::Make(options).value());
    // A zygote starts between sessions.
    if (kind.warm == init::WarmKind::kZygote) {
      EXPECT_TRUE(lane.slot->Reset().ok());
    }
    return lane;
  }

  enum class Start { kCold, kAhead };
  static Ran RunAs(Lane& lane, const std::vector<std::string>& words, const RunLimits& limits,
                   Start start) {
    RunRequest request;
    request.argv = {kGuest};
    request.argv.insert(request.argv.end(), words.begin(), words.end());
    request.limits = limits;
    request.warm = start == Start::kAhead;
    return RunRequested(*lane.slot, std::move(request));
  }

  /// Returns what a new guest finds in the slot. The probe is a session of its own.
  static Seen LookAs(Lane& lane, int way, Start start) {
    const Ran ran = RunAs(lane, {"probe", kWays[way]}, {}, start);
    EXPECT_EQ(ran.outcome.exit_code, 0) << ran.err;
    EXPECT_TRUE(lane.slot->Reset().ok());
    return {Facts(ran.out), ran.outcome.warm};
  }

  static std::vector<std::string> Look(Lane& lane, int way) {
    return LookAs(lane, way, Start::kAhead).facts;
  }

  /// Returns how what a new guest finds differs from what the first guest finds.
  std::string Unlike(Lane& lane, int way) {
    const Seen seen = LookAs(lane, way, Start::kAhead);
    if (lane.kind.warm != init::WarmKind::kNone) ++(seen.warm ? warm_ : cold_);
    return jail::Unlike(Expected(lane.kind, seen.warm, way), seen.facts);
  }

  void Stir(Lane& lane, std::uint64_t seed, int steps) const {
    RunLimits limits;
    limits.wall_time = std::chrono::milliseconds(300);
    RunAs(lane, {"stir", std::to_string(seed), std::to_string(steps), calls_}, limits,
          Start::kAhead);
    EXPECT_TRUE(lane.slot->Reset().ok()) << "seed " << seed;
  }

  void Begin(Lane& lane, std::uint64_t seed, int steps) {
    Stir(lane, seed, steps);
    lane.seed = seed;
    if (LooksAtOnce(seed)) Check(lane, "at once", Unlike(lane, seed % 4 == 0 ? 1 : 0));
    lane.due = Clock::now() + kLater;
  }

  void Finish(Lane& lane) {
    if (lane.seed == 0) return;
    // sleeps: what a guest started may show only after a while.
    std::this_thread::sleep_until(lane.due);
    Check(lane, "later", Unlike(lane, 1));
    lane.seed = 0;
  }

  static bool LooksAtOnce(std::uint64_t seed) { return seed % 2 == 0; }

  void Check(const Lane& lane, const char* when, const std::string& unlike) {
    ++looked_;
    if (unlike.empty()) return;
    const std::lock_guard lock(mutex_);
    failed_.try_emplace(
        lane.seed, lane.kind,
        fmt::format("seed {}, {}, {}:\n{}", lane.seed, lane.kind.name, when, unlike));
  }

  bool FailedEnough() {
    const std::lock_guard lock(mutex_);
    return failed_.size() >= 3;
  }

  /// Runs the sequences from `next` to `end` in these slots, on the calling thread.
  void Work(std::atomic<std::uint64_t>& next, std::uint64_t end, std::vector<Lane> lanes) {
    for (bool more = true; more && !FailedEnough();) {
      for (Lane& lane : lanes) {
        Finish(lane);
        const std::uint64_t seed = next++;
        more = more && seed < end;
        if (seed < end) Begin(lane, seed, kSteps);
      }
    }
    for (Lane& lane : lanes) Finish(lane);
  }

  /// Runs the sequences from `first` to `end` in slots of all kinds, on several threads.
  void WorkOnAll(std::uint64_t first, std::uint64_t end) {
    const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
    const int slots =
        std::clamp(static_cast<int>(end - first) / 2, kKindCount * threads, kMostSlots);
    std::atomic<std::uint64_t> next = first;
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < threads; ++thread) {
      std::vector<Lane> lanes;
      for (int i = 0; i < slots / threads; ++i) {
        lanes.push_back(
            NewLane(static_cast<unsigned>(2 + thread * slots + i), kKinds[i % kKindCount]));
      }
      workers.emplace_back([this, &next, end, lanes = std::move(lanes)]() mutable {
        Work(next, end, std::move(lanes));
      });
    }
  }

  /// Returns the fewest steps of a sequence that the next guest still notices.
  int Shrink(const Kind& kind, std::uint64_t seed) {
    int fewest = kSteps;
    for (int less = kSteps / 2, steps = kSteps; less > 0; less /= 2) {
      Lane lane = NewLane(0, kind);
      Stir(lane, seed, steps - less);
      bool noticed = LooksAtOnce(seed) && !Unlike(lane, 0).empty();
      if (!noticed) {
        // sleeps: as in Finish().
        std::this_thread::sleep_for(kLater);
        noticed = !Unlike(lane, 1).empty();
      }
      if (noticed) fewest = steps -= less;
    }
    return fewest;
  }

  std::string calls_;
  /// What the first guest of a new slot without a warm start finds, with an active probe.
  std::vector<std::string> first_;
  std::map<std::tuple<init::WarmKind, bool, int>, std::vector<std::string>> by_kind_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::pair<Kind, std::string>> failed_;
  std::atomic<int> looked_ = 0;
  /// The looks of guests in slots that start them ahead.
  std::atomic<int> warm_ = 0;
  std::atomic<int> cold_ = 0;
};

TEST_P(Reuse, TheNextGuestFindsWhatTheFirstOfANewSlotFinds) {
  const auto count =
      static_cast<std::uint64_t>(FromEnvironment("POLYBOX_REUSE_SEQUENCES", kSequences));
  if (const int one = FromEnvironment("POLYBOX_REUSE_SEED", 0); one > 0) {
    for (const Kind& kind : kKinds) {
      std::atomic<std::uint64_t> next = static_cast<std::uint64_t>(one);
      std::vector<Lane> lanes;
      lanes.push_back(NewLane(2, kind));
      Work(next, next + 1, std::move(lanes));
    }
  } else {
    const std::uint64_t first = 1 + static_cast<std::uint64_t>(GetParam()) * count;
    WorkOnAll(first, first + count);
    EXPECT_GE(looked_, static_cast<int>(failed_.empty() ? count + count / 2 : 0));
  }
  EXPECT_GE(warm_, cold_);
  for (const auto& [seed, failed] : failed_) {
    ADD_FAILURE() << failed.second << "with " << Shrink(failed.first, seed) << " of " << kSteps
                  << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Reuse, ::testing::Range(0, kParts));

// Calls that may fail with the arguments that the guest chooses for them.
constexpr std::string_view kRefused[] = {
    "map_shadow_stack",  // kernels and processors without shadow stacks
    "mlockall",          // RLIMIT_MEMLOCK is 0 here
    "rseq",              // the C library has registered an area already
};

class ReuseSequences : public Reuse {};

TEST_F(ReuseSequences, MakeEveryCallThatTheFilterAllows) {
  Lane lane = NewLane(2);
  const Ran ran = RunIn(*lane.slot, {kGuest, "calls", calls_}, {});
  EXPECT_EQ(ran.outcome.exit_code, 0) << ran.err;
  int at_random = 0;
  int alone = 0;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = CallName(KeyOf(line));
    const std::string how = line.substr(line.find('\t') + 1);
    at_random += how == "at random" ? 1 : 0;
    alone += how.starts_with("in a process of its own: ") ? 1 : 0;
    EXPECT_TRUE(how == "at random" || how.ends_with(": made") ||
                std::ranges::find(kRefused, name) != std::end(kRefused))
        << name << " " << how;
  }
  EXPECT_EQ(at_random + alone, std::ranges::count(calls_, ','));
  EXPECT_GT(at_random, 200);
  EXPECT_GT(alone, 20);
}

struct Planted {
  const char* command;
  /// The beginning of a line that must differ from the first guest's line.
  const char* found;
};

// These traces stay until the end of a session, when the slot removes them.
TEST_F(ReuseSequences, AreFoundOutByWhatASessionLeavesUntilItsEnd) {
  constexpr Planted kPlanted[] = {
      {"echo x >/tmp/left", "entry\t/tmp/left"},
      {"chmod 700 /dev/shm", "stat /dev/shm\t"},
      {"touch -d 2001-01-01 /sandbox; ln -s x /sandbox/link", "link /sandbox/link\t"},
      {"bash -c 'echo x >/dev/udp/127.0.0.1/9'", "read /proc/net/snmp\t"},
  };
  for (const auto& [command, found] : kPlanted) {
    Lane lane = NewLane(2);
    RunIn(*lane.slot, {"/bin/sh", "-c", command}, {});
    const std::vector<std::string> before = Look(lane, 1);
    EXPECT_NE(jail::Unlike(first_, before), "") << command;
    EXPECT_TRUE(HasOther(first_, before, found)) << command;
    EXPECT_EQ(jail::Unlike(first_, Look(lane, 1)), "") << command;
  }
}

// These traces end with the cell of the program that made them.
TEST_F(ReuseSequences, AreFoundOutByWhatACellLeavesUntilItsEnd) {
  constexpr Planted kPlanted[] = {
      {"ipcmk -M 4096", "read /proc/sysvipc/shm\t"},
      {"ipcmk -S 1", "object sem\t"},
      {"ipcmk -Q; ipcrm -a", "object msg\t"},
      {"/bin/true", "object child\t"},
  };
  for (const auto& [command, found] : kPlanted) {
    Lane lane = NewLane(2);
    const std::string line = std::string(command) + " >/dev/null; exec /guest probe active";
    const std::vector<std::string> before =
        Facts(RunIn(*lane.slot, {"/bin/sh", "-c", line}, {}).out);
    EXPECT_NE(jail::Unlike(first_, before), "") << command;
    EXPECT_TRUE(HasOther(first_, before, found)) << command;
    EXPECT_TRUE(lane.slot->Reset().ok());
    EXPECT_EQ(jail::Unlike(first_, Look(lane, 1)), "") << command;
  }
}

TEST_F(ReuseSequences, AreFoundOutUntilTheEndOfTheirSession) {
  for (const Kind& kind : kKinds) {
    Lane lane = NewLane(2, kind);
    int noticed = 0;
    constexpr int kTries = 8;
    for (std::uint64_t seed = 1; seed <= kTries; ++seed) {
      RunAs(lane, {"stir", std::to_string(seed), std::to_string(kSteps), calls_}, {},
            Start::kAhead);
      noticed += Unlike(lane, 1).empty() ? 0 : 1;
    }
    EXPECT_GT(noticed, 0) << kind.name;
  }
}

}  // namespace
}  // namespace polybox::jail

#include <cerrno>

#include <sys/mman.h>

#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"
#include "jail/init/run_view.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

void CloseFrom(int first) {
  Raw(SYS_close_range, first, ~0U, 0);
}

/// Where the next run's message is read: one guest waits at a time. Pages of their own.
constexpr std::size_t kPage = 4096;
alignas(kPage) RunRoom room;
/// How much of it was.
std::size_t taken = 0;

/// Between a request and its program, on the request's time; returns only on failure. The filter is
/// in place: every call here must be one that guests may make.
Failed BecomeProgram(std::size_t size, std::span<const int> streams) {
  RunView run;
  if (!ReadInPlace(room, size, run)) return {Stage::kMessage, EBADMSG, -1};
  const StepResult placed = TakePlace(run.directory, run.limits, streams);
  return placed.ok ? Execute(run.argv, run.env) : placed.failed;
}

void AwaitRun(int socket) {
  int streams[3];
  std::size_t count = 0;
  taken = ReceiveRaw(socket, room.bytes, streams, count);
  if (taken == 0) return;
  SendRaw(socket, Encode(BecomeProgram(taken, std::span<const int>(streams).first(count))));
}

/// The interpreter takes its program itself: see warm/warm.h. Returns on failure, of which the
/// server learns by an end without a start.
void StartAhead(const WarmCommand& warm, int socket, const WarmFds& fds) {
  // They are all that it gets of us, at the places where it looks for them.
  if (Raw(SYS_dup3, fds.started, kWarmStarted, 0) < 0 ||
      Raw(SYS_dup3, fds.word, kWarmWord, 0) < 0 || Raw(SYS_dup3, socket, kWarmSocket, 0) < 0) {
    return;
  }
  // Not where the program will be: what is not there yet must not be looked for and remembered.
  if (Raw(SYS_chdir, "/") < 0) return;
  Raw(SYS_close_range, 3, kWarmWord - 1, 0);
  CloseFrom(kWarmStarted + 1);
  if (SetLimits(warm.limits).ok) Execute(warm.argv.data(), warm.env.data());
}

}  // namespace

void WaitAsGuest(int socket, const PodOptions& options, const WarmFds& fds) {
  StepResult prepared = GiveUpRights(options);
  // Not of the slot init's stack, which goes on when it has heard from us.
  const WarmCommand* ahead = options.warm;
  if (prepared.ok && ahead == nullptr) {
    // Only the socket is left, which an exec closes.
    CloseFrom(socket + 1);
    prepared = InstallFilter(options.filter);
  }
  SendRaw(socket, prepared.ok ? Encode(MessageKind::kDone) : Encode(prepared.failed));
  constexpr int kNeverStarted = 127;
  if (!prepared.ok) RawExit(kNeverStarted);
  if (ahead != nullptr) {
    StartAhead(*ahead, socket, fds);
  } else {
    AwaitRun(socket);
  }
  RawExit(kNeverStarted);
}

void ForgetRun() {
  constexpr std::size_t kSmall = 16 * 1024;
  if (taken > kSmall) ::madvise(&room, sizeof room, MADV_DONTNEED);
  taken = 0;
}

}  // namespace polybox::jail::init

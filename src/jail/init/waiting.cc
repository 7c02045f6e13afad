#include "jail/init/waiting.h"

#include <cerrno>

#include <sys/mman.h>

#include "jail/init/cell_options.h"
#include "jail/init/guest.h"
#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"
#include "jail/init/run_view.h"
#include "jail/init/step_result.h"
#include "jail/init/warm_command.h"

namespace polybox::jail::init {
namespace {

void CloseFrom(int first) {
  Raw(SYS_close_range, first, ~0U, 0);
}

/// The buffers for the next run's message, on pages of their own so that ForgetRun() can release
/// them. They are in the memory that the slot init, the cell's init and the guest share. One guest
/// waits at a time, and only that guest uses the buffers, from its report until its exec or its
/// end. The slot init releases them after that.
constexpr std::size_t kPage = 4096;
alignas(kPage) RunRoom room;
/// How many bytes of `room` the last message took. The waiting guest writes it; the slot init reads
/// it in ForgetRun(), when the guest has ended.
std::size_t taken = 0;

/// From the request to the exec of its program, so on the request's time. Returns only on failure.
/// The filter is installed already: every system call here must be one that guests may make.
Failed BecomeProgram(std::size_t size, std::span<const int> streams) {
  RunView run;
  if (!ReadInPlace(room, size, run)) return {Stage::kMessage, EBADMSG, -1};
  const StepResult placed = TakePlace(run.directory, run.limits, streams);
  return placed.ok ? Execute(run.argv, run.env) : placed.failed;
}

/// Waits for the Run message and becomes its program. Returns when the server is gone, or after the
/// failure was reported.
void AwaitRun(int socket) {
  int streams[3];
  std::size_t count = 0;
  taken = ReceiveRaw(socket, room.bytes, streams, count);
  if (taken == 0) return;
  SendRaw(socket, Encode(BecomeProgram(taken, std::span<const int>(streams).first(count))));
}

/// Starts an interpreter that takes its program itself: see warm/library.h. Returns only on
/// failure; the server then finds that the guest ended without a start. `warm` belongs to the slot
/// init and outlives the cell. `fds` is in the stack frame of the cell's init, which waits for this
/// process.
void StartAhead(const WarmCommand& warm, int socket, const WarmFds& fds) {
  // The interpreter gets only these descriptors of the slot, at the numbers where it looks for
  // them.
  if (Raw(SYS_dup3, fds.started, kWarmStarted, 0) < 0 ||
      Raw(SYS_dup3, fds.word, kWarmWord, 0) < 0 || Raw(SYS_dup3, socket, kWarmSocket, 0) < 0) {
    return;
  }
  // The interpreter must not start in the program's directory. It would look for files there and
  // remember that they do not exist yet.
  if (Raw(SYS_chdir, "/") < 0) return;
  Raw(SYS_close_range, 3, kWarmWord - 1, 0);
  CloseFrom(kWarmStarted + 1);
  if (SetLimits(warm.limits).ok) Execute(warm.argv.data(), warm.env.data());
}

}  // namespace

void WaitAsGuest(int socket, const CellOptions& options, const WarmFds& fds) {
  StepResult prepared = GiveUpRights(options);
  // Copied now: `options` refers to the slot init's stack, and the slot init goes on as soon as it
  // has received the report below. After the report only `ahead` and `fds` may be used.
  const WarmCommand* ahead = options.warm;
  if (prepared.ok && ahead == nullptr) {
    // Only the socket stays open, and an exec closes it.
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

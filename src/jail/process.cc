#include "jail/process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <sys/ioctl.h>

#include "jail/process_state.h"

namespace polybox::jail {
namespace {

// The signals that the kernel sends to a foreground process group by TIOCSIG.
constexpr std::array kTyped = {SIGINT, SIGQUIT, SIGTSTP};

}  // namespace

Process::Process(std::shared_ptr<ProcessState> state, ProcessStreams streams)
    : state_(std::move(state)), streams_(std::move(streams)) {}
Process::Process(Process&&) noexcept = default;

Process::~Process() {
  // The lease keeps a tree that does not end, and ends with it.
  if (state_) (void)state_->End();
}

Status Process::Resize(TerminalSize size) {
  const winsize kernel = {size.rows, size.columns, 0, 0};
  if (::ioctl(streams_.terminal.get(), TIOCSWINSZ, &kernel) == 0) return {};
  return Error::FromErrno("resize a terminal");
}

Status Process::Signal(int number) const {
  const bool typed = std::ranges::find(kTyped, number) != kTyped.end();
  if (!typed || !streams_.terminal.valid()) return state_->Signal(number);
  if (::ioctl(streams_.terminal.get(), TIOCSIG, number) == 0) return {};
  return Error::FromErrno("signal a terminal's processes");
}

std::optional<Outcome> Process::Wait(Duration most) const {
  return state_->Wait(most);
}

bool Process::WaitForTree(Duration most) const {
  return state_->WaitForTree(most);
}

ProcessUsage Process::Usage() const {
  return state_->Usage();
}

Status Process::End() const {
  return state_->End();
}

}  // namespace polybox::jail

#include "jail/init/terminal.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/ioctl.h>

#include "jail/init/ids.h"

namespace polybox::jail::init {
namespace {

/// Opens the guest's end without its path, which /dev/pts may not show.
UniqueFd OpenOtherEnd(int master) {
  const int unlocked = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlocked) != 0) return UniqueFd();
  return UniqueFd(::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

int OpenTerminal(std::uint16_t rows, std::uint16_t columns, Terminal& terminal) {
  UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master.valid()) return errno;
  UniqueFd process = OpenOtherEnd(master.get());
  if (!process.valid()) return errno;
  const winsize size = {rows, columns, 0, 0};
  if (::ioctl(master.get(), TIOCSWINSZ, &size) != 0) return errno;
  // Without this a guest has its terminal, but cannot open it by its path.
  (void)!::fchown(process.get(), GuestIds().uid, GuestIds().gid);
  terminal = {std::move(master), std::move(process)};
  return 0;
}

int ControlBy(int terminal) {
  return ::ioctl(terminal, TIOCSCTTY, 0) == 0 ? 0 : errno;
}

}  // namespace polybox::jail::init

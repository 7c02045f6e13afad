#include "jail/init/last_word.h"

#include <cerrno>
#include <ctime>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/mman.h>

#include "jail/init/raw.h"

namespace polybox::jail::init {
namespace {

constexpr std::size_t kSize = sizeof(std::uint32_t);
// The flags are above the eight bits of an exit code.
constexpr std::uint32_t kSaid = 1U << 8U;
constexpr std::uint32_t kInterrupted = 1U << 9U;
constexpr std::uint32_t kListening = 1U << 10U;
// If no process has killed the guest within this time, none will.
constexpr timespec kPatience = {2, 0};
// A guest can clear the flag of Interrupt(). The init then sleeps no longer than this.
constexpr timespec kLongestSleep = {1, 0};

long Futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* most = nullptr) {
  return Raw(SYS_futex, word, operation, value, most, nullptr);
}

}  // namespace

int LastWord::Make() {
  const int fd = ::memfd_create("polybox", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, kSize) == 0) return fd;
  ::close(fd);
  return -1;
}

bool LastWord::Map(int fd) {
  void* page = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return false;
  ::madvise(page, kSize, MADV_DONTFORK);
  page_ = static_cast<std::atomic<std::uint32_t>*>(page);
  owner_ = ::getpid();
  return true;
}

void LastWord::Unmap() {
  if (page_ != nullptr) ::munmap(page_, kSize);
  page_ = nullptr;
}

void LastWord::Say(int code) {
  if (page_ == nullptr || ::getpid() != owner_) return;
  page_->fetch_or(kSaid | (static_cast<std::uint32_t>(code) & 0xffU));
  Futex(page_, FUTEX_WAKE, 1);
  std::uint32_t seen = page_->load();
  while ((seen & kListening) != 0 && Futex(page_, FUTEX_WAIT, seen, &kPatience) != -ETIMEDOUT) {
    seen = page_->load();
  }
}

void LastWord::Listen() {
  page_->fetch_or(kListening);
}

std::optional<int> LastWord::Heard() const {
  const std::uint32_t value = page_->load();
  if ((value & kSaid) == 0) return std::nullopt;
  return static_cast<int>(value & 0xffU);
}

void LastWord::Await() {
  // A guest can write any value to the page. A value that is no report does not keep the init
  // awake. A caller that calls in a loop bounds the cost itself (CpuShare).
  const std::uint32_t seen = page_->load();
  if ((seen & (kSaid | kInterrupted)) == 0) Futex(page_, FUTEX_WAIT, seen, &kLongestSleep);
  page_->fetch_and(~kInterrupted);
}

void LastWord::Interrupt() {
  page_->fetch_or(kInterrupted);
}

}  // namespace polybox::jail::init

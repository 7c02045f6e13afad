#include "net/name_resolver.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <poll.h>
#include <system_error>
#include <thread>

#include <sys/eventfd.h>

#include "base/unique_fd.h"

namespace polybox::net {
namespace {

struct Question {
  HostPort target;
  NameResolver::Asker asker;
  /// An eventfd, readable when `addresses` is set.
  UniqueFd answered;
  std::vector<Address> addresses = {};
};

}  // namespace

/// Shared with the lookup threads, which may outlive the NameResolver.
struct NameResolver::State : std::enable_shared_from_this<State> {
  State(Lookup how, Limits most) : lookup(std::move(how)), limits(most) {}

  bool MayAsk(Asker asker) const {
    const auto found = of_asker.find(asker);
    return found == of_asker.end() || found->second < limits.per_asker;
  }

  /// Removes and returns the next question that may be looked up now; null when there is none. The
  /// caller holds `mutex`.
  std::shared_ptr<Question> Take() {
    const auto next =
        std::ranges::find_if(waiting, [&](const auto& one) { return MayAsk(one->asker); });
    if (next == waiting.end()) return nullptr;
    std::shared_ptr<Question> question = *next;
    waiting.erase(next);
    ++of_asker[question->asker];
    return question;
  }

  /// The body of a lookup thread: answers questions until none is left. `mutex` is released during
  /// each lookup.
  void Work() {
    std::unique_lock lock(mutex);
    while (const std::shared_ptr<Question> question = Take()) {
      lock.unlock();
      std::vector<Address> addresses = lookup(question->target);
      lock.lock();
      question->addresses = std::move(addresses);
      ::eventfd_write(question->answered.get(), 1);
      if (--of_asker[question->asker] == 0) of_asker.erase(question->asker);
    }
    --threads;
  }

  /// Starts one more thread if a question of `asker` may be looked up. The caller holds `mutex`.
  void StartThread(Asker asker) {
    if (threads >= limits.lookups || !MayAsk(asker)) return;
    try {
      std::thread([self = shared_from_this()] { self->Work(); }).detach();
      ++threads;
    } catch (const std::system_error&) {
      // Running threads will take the question. If there are none, the caller's deadline passes.
    }
  }

  const Lookup lookup;
  const Limits limits;
  /// Guards the members below, and `addresses` of each question.
  std::mutex mutex;
  std::list<std::shared_ptr<Question>> waiting;
  /// The number of running lookups of each Asker.
  std::map<Asker, std::size_t> of_asker;
  std::size_t threads = 0;
};

NameResolver::NameResolver(Lookup lookup) : NameResolver(std::move(lookup), Limits()) {}

NameResolver::NameResolver(Lookup lookup, Limits limits)
    : state_(std::make_shared<State>(std::move(lookup), limits)) {}

NameResolver::~NameResolver() = default;

NameResolver::Asker NameResolver::NewAsker() {
  static std::atomic<std::uint64_t> made = 0;
  return Asker{++made};
}

std::vector<Address> NameResolver::Find(const HostPort& target, Asker asker,
                                        const Patience& patience) {
  // An address needs no lookup.
  if (target.is_address) return Resolve(target);
  const auto question = std::make_shared<Question>(
      Question{target, asker, UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))});
  if (!question->answered.valid()) return {};
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(question);
    state_->StartThread(asker);
  }
  // Waits without the lock. A lookup thread may still hold the question after this function
  // returns.
  const bool answered = AwaitSocket(question->answered.get(), POLLIN, patience);
  const std::lock_guard lock(state_->mutex);
  std::erase(state_->waiting, question);
  return answered ? question->addresses : std::vector<Address>();
}

}  // namespace polybox::net

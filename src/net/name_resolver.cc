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
  /// Readable when there is an answer.
  UniqueFd answered;
  std::vector<Address> addresses = {};
};

}  // namespace

/// Shared with the threads that look names up: they may outlive the resolver.
struct NameResolver::State : std::enable_shared_from_this<State> {
  State(Lookup how, Limits most) : lookup(std::move(how)), limits(most) {}

  bool MayAsk(Asker asker) const {
    const auto found = of_asker.find(asker);
    return found == of_asker.end() || found->second < limits.per_asker;
  }

  /// The next question that may be asked now; null when there is none. With the mutex held.
  std::shared_ptr<Question> Take() {
    const auto next =
        std::ranges::find_if(waiting, [&](const auto& one) { return MayAsk(one->asker); });
    if (next == waiting.end()) return nullptr;
    std::shared_ptr<Question> question = *next;
    waiting.erase(next);
    ++of_asker[question->asker];
    return question;
  }

  /// A thread's life: answers what there is and ends.
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

  /// With the mutex held: one more thread if there is something for it to do.
  void StartThread(Asker asker) {
    if (threads >= limits.lookups || !MayAsk(asker)) return;
    try {
      std::thread([self = shared_from_this()] { self->Work(); }).detach();
      ++threads;
    } catch (const std::system_error&) {
      // Those that run will come to it; without any, the time of whoever asked will be up.
    }
  }

  const Lookup lookup;
  const Limits limits;
  std::mutex mutex;
  std::list<std::shared_ptr<Question>> waiting;
  /// Being looked up now.
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
  // Nothing needs to be asked for that.
  if (target.is_address) return Resolve(target);
  const auto question = std::make_shared<Question>(
      Question{target, asker, UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))});
  if (!question->answered.valid()) return {};
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(question);
    state_->StartThread(asker);
  }
  const bool answered = AwaitSocket(question->answered.get(), POLLIN, patience);
  const std::lock_guard lock(state_->mutex);
  std::erase(state_->waiting, question);
  return answered ? question->addresses : std::vector<Address>();
}

}  // namespace polybox::net

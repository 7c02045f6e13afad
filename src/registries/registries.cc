#include "registries/registries.h"

#include <algorithm>
#include <poll.h>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/digest.h"

namespace polybox::registries {
namespace {

using net::EgressPolicy;

// How often a waiting request looks whether its proxy ends.
constexpr auto kLookAgain = std::chrono::milliseconds(50);

std::vector<std::string> Entries(const std::vector<net::HostPort>& hosts) {
  std::vector<std::string> entries;
  entries.reserve(hosts.size());
  for (const net::HostPort& host : hosts) {
    entries.push_back(net::JoinHostPort(host.host, host.port));
  }
  return entries;
}

bool HasHost(const std::vector<net::HostPort>& hosts, const net::HostPort& target) {
  return std::ranges::count(hosts, target) != 0;
}

bool IsOver(const net::Patience& patience) {
  pollfd stop = {patience.stop, POLLIN, 0};
  if (patience.stop >= 0 && ::poll(&stop, 1, 0) > 0) return true;
  return std::chrono::steady_clock::now() >= patience.deadline;
}

}  // namespace

Registries::Registries(Options options, const log::Logger& log)
    : options_(std::move(options)), log_(log), known_(options_.clients.size()) {}

Registries::~Registries() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    thread = std::move(thread_);
  }
  thread.request_stop();
}

void Registries::Ask() {
  std::vector<std::jthread> asking;
  for (std::size_t i = 0; i < options_.clients.size(); ++i) {
    asking.emplace_back([this, i] {
      const Client& client = options_.clients[i];
      Result<ClientAnswer> answer = registries::Ask(client, options_.ask);
      const std::lock_guard lock(mutex_);
      Known& known = known_[i];
      if (answer.ok()) {
        known.answer = std::move(answer).value();
      } else {
        known.problem = "the client does not tell its configuration: " + answer.error().message();
      }
      known.tried = options_.learned->Get(KeyOf(client, known.answer));
    });
  }
}

std::map<std::string, std::string> Registries::Files() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> files;
  for (const Known& known : known_) {
    for (const auto& [path, content] : known.answer.files) files[path] = content;
  }
  return files;
}

std::vector<std::string> Registries::Notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].problem.empty()) continue;
    notes.push_back(fmt::format("{}: not all package registries of {} are known: {}",
                                options_.setting, options_.clients[i].language.name,
                                known_[i].problem));
  }
  return notes;
}

// All that decides which hosts a trial uses. Values of variables may be credentials, so only their
// digest is kept.
std::string Registries::KeyOf(const Client& client, const ClientAnswer& answer) const {
  const languages::RegistryClients& settings = client.settings();
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", client.language.id, client.toolchain.version,
                                 fmt::join(settings.trial, "\n"), fmt::join(settings.ask, "\n"));
  for (const std::string& entry : Entries(answer.hosts)) text += entry + "\n";
  for (const auto& [path, content] : answer.files) text += path + "\n" + content + "\n";
  for (const auto* names : {&settings.pass_env, &settings.pass_files}) {
    for (const std::string& name : *names) {
      text += fmt::format("{}={}\n", name, options_.ask.variable(name));
    }
  }
  return store::Sha256(text);
}

// A host that the user's configuration names may have any address: it may be a mirror in a private
// network. What a trial used must stay on the public internet, whatever its name leads to later.
std::shared_ptr<const EgressPolicy> Registries::PolicyFor(const net::HostPort& target) const {
  bool is_named = false;
  bool is_tried = false;
  for (const Known& known : known_) {
    is_named |= HasHost(known.answer.hosts, target);
    is_tried |= known.tried && HasHost(*known.tried, target);
  }
  if (!is_named && !is_tried) return nullptr;
  const auto inside =
      is_named ? EgressPolicy::Inside::kOfNamedHosts : EgressPolicy::Inside::kNamedThemselves;
  Result<EgressPolicy> policy = EgressPolicy::Make(Entries({target}), options_.setting, inside);
  if (!policy.ok()) return nullptr;
  return std::make_shared<const EgressPolicy>(std::move(policy).value());
}

bool Registries::MustTry(std::size_t index) const {
  const Known& known = known_[index];
  if (known.tried || options_.clients[index].settings().trial.empty()) return false;
  return !known.failed || options_.clock->Now() - *known.failed >= kRetryAfter;
}

std::optional<std::size_t> Registries::NextTrial() const {
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!MustTry(i)) continue;
    if (known_[i].answer.hosts.empty()) return i;
    if (!next) next = i;
  }
  return next;
}

Result<std::vector<net::HostPort>> Registries::LearnFrom(std::size_t index,
                                                         const std::stop_token& stop) {
  ClientAnswer answer;
  {
    const std::lock_guard lock(mutex_);
    answer = known_[index].answer;
  }
  const Client& client = options_.clients[index];
  POLYBOX_ASSIGN_OR_RETURN(std::vector<net::HostPort> hosts, options_.trial(client, answer, stop));
  const Status kept = options_.learned->Put(KeyOf(client, answer), hosts);
  if (!kept.ok()) {
    log_.Warn("cannot keep the hosts of package registries", {{"why", kept.error().message()}});
  }
  return hosts;
}

void Registries::RunTrials(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::optional<std::size_t> next = NextTrial();
    if (!next) break;
    lock.unlock();
    Result<std::vector<net::HostPort>> hosts = LearnFrom(*next, stop);
    lock.lock();
    Known& known = known_[*next];
    if (hosts.ok()) {
      known.tried = std::move(hosts).value();
      known.problem.clear();
    } else {
      known.failed = options_.clock->Now();
      known.problem = "the trial download failed: " + hosts.error().message();
      log_.Warn(
          "cannot learn the package registries of a language",
          {{"language", options_.clients[*next].language.id}, {"why", hosts.error().message()}});
    }
    changed_.notify_all();
  }
  trying_ = false;
  changed_.notify_all();
}

bool Registries::StartTrials() {
  try {
    // The last thread has left RunTrials(), so joining it does not wait.
    thread_ = std::jthread([this](const std::stop_token& stop) { RunTrials(stop); });
  } catch (const std::system_error& error) {
    log_.Warn("cannot learn the package registries", {{"why", error.what()}});
    return false;
  }
  trying_ = true;
  return true;
}

std::shared_ptr<const EgressPolicy> Registries::Find(const net::HostPort& target, Wait wait,
                                                     const net::Patience& patience) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto policy = PolicyFor(target); policy || wait == Wait::kNo) return policy;
    if (!trying_ && !NextTrial()) return nullptr;
    if (IsOver(patience)) return nullptr;
    if (!trying_ && !StartTrials()) return nullptr;
    changed_.wait_for(lock, kLookAgain);
  }
}

}  // namespace polybox::registries

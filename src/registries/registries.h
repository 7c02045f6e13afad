// The package registries that the clients on this host use: what the word `registries` in a list of
// hosts stands for. Clients are asked once. Trial downloads run on a thread of their own when a
// jail first asks for a host that no client named. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "net/egress_proxy.h"
#include "registries/client.h"
#include "registries/learned_hosts.h"

namespace polybox::registries {

/// Runs the trial download of a client (TryDownload() of trial.h). Tests set another function.
using Trial = std::function<Result<std::vector<net::HostPort>>(
    const Client& client, const ClientAnswer& answer, const std::stop_token& stop)>;

class Registries : public net::LaterHosts {
 public:
  struct Options {
    std::vector<Client> clients;
    AskOptions ask;
    Trial trial;
    /// Must outlive the object.
    LearnedHosts* learned = nullptr;
    /// The setting whose list has the word `registries`, for messages.
    std::string setting;
    const Clock* clock = &Clock::System();
  };

  Registries(Options options, const log::Logger& log);
  Registries(const Registries&) = delete;
  Registries& operator=(const Registries&) = delete;
  /// Ends a trial that runs.
  ~Registries() override;

  /// Asks all clients at once and waits for their answers. To be called once, before Find().
  void Ask();
  /// Configuration files without credentials, by path below the home directory. After Ask().
  std::map<std::string, std::string> Files() const;
  /// Returns a sentence for each client whose registries are not known.
  std::vector<std::string> Notes() const;

  std::shared_ptr<const net::EgressPolicy> Find(const net::HostPort& target, Wait wait,
                                                const net::Patience& patience) override;

  /// A trial that failed is repeated after this time, if a host is asked for that is not known.
  static constexpr Duration kRetryAfter = std::chrono::seconds(60);

 private:
  /// What is known of one client.
  struct Known {
    ClientAnswer answer;
    /// The hosts of its trial download; absent: not known.
    std::optional<std::vector<net::HostPort>> tried;
    /// When the last trial failed.
    std::optional<std::chrono::steady_clock::time_point> failed;
    /// Why it is not known; "" if nothing failed.
    std::string problem;
  };

  bool MustTry(std::size_t index) const;
  /// Returns the client whose trial is next. Clients without a configured registry come first.
  std::optional<std::size_t> NextTrial() const;
  /// Starts the thread. Returns false if the machine has none left. The caller holds `mutex_`.
  bool StartTrials();
  void RunTrials(const std::stop_token& stop);
  Result<std::vector<net::HostPort>> LearnFrom(std::size_t index, const std::stop_token& stop);
  std::string KeyOf(const Client& client, const ClientAnswer& answer) const;
  /// Returns the policy that allows `target`. The caller holds `mutex_`.
  std::shared_ptr<const net::EgressPolicy> PolicyFor(const net::HostPort& target) const;

  const Options options_;
  const log::Logger log_;
  mutable std::mutex mutex_;
  /// Notified after each trial.
  std::condition_variable changed_;
  /// Guarded by `mutex_`; in the order of Options::clients.
  std::vector<Known> known_;
  /// Guarded by `mutex_`: whether the thread runs trials.
  bool trying_ = false;
  /// Runs RunTrials(). Started and replaced under `mutex_`.
  std::jthread thread_;
};

}  // namespace polybox::registries

// What compile steps find ready: a built standard library, precompiled headers. The language file
// says how it is made (Preparation in language.h); that is done once per toolchain, in a jail in
// which there is nothing of any guest, and shown read-only from then on. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/result.h"
#include "exec/jail_home.h"
#include "exec/launch.h"
#include "exec/layer_store.h"

namespace polybox::exec {

class Preparer {
 public:
  enum class Mode {
    kMake,  ///< What is asked for twice and not there is made in the background.
    kLook,  ///< Only what is there is used.
  };

  struct Options {
    /// Made when it is not there.
    std::string directory;
    /// Of all layers: twice what the built-in languages need, for the time of an upgrade.
    Bytes size = Bytes::MiB(2048);
    Mode mode = Mode::kMake;
    /// The number of its slot, which no other may use: beside those of the installers.
    unsigned slot = 0x10000 + 125;
  };

  /// `home` must outlive it.
  static Result<std::unique_ptr<Preparer>> Open(const JailHome& home, Options options,
                                                const log::Logger& log);
  /// Ends what is being made.
  ~Preparer();

  /// The directory of what is ready for it, which stays for as long as we do; "" when the language
  /// needs nothing, or it is not there yet. What the installation refers to must outlive us.
  std::string Get(const Installation& installation);
  /// Waits until nothing is being made.
  void AwaitIdle();

 private:
  struct Job {
    std::string key;
    Installation installation;
  };

  Preparer(const JailHome& home, Options options, const log::Logger& log);

  /// For the first time: from the store, or else it is put on the list.
  std::string Look(const std::string& key, const Installation& installation);
  void Work(const std::stop_token& stop);
  void Make(const Job& job, const std::stop_token& stop);
  /// False when the preparation failed.
  Result<bool> Fill(const Installation& installation, const std::string& directory,
                    const std::stop_token& stop);

  const JailHome& home_;
  const Options options_;
  log::Logger log_;
  std::unique_ptr<LayerStore> layers_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, LayerLease> ready_;
  std::deque<Job> waiting_;
  bool busy_ = false;
  std::set<std::string> asked_;
  /// Those that wait, that are being made, and that could not be made.
  std::set<std::string> tried_;
  std::jthread thread_;
};

}  // namespace polybox::exec

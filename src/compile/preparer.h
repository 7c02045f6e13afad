// Prepares files that make compile steps faster: a built standard library, precompiled headers. The
// language file names the command (Preparation in language.h). The command runs once for each
// toolchain, in a jail that contains nothing of any guest. Compile steps then see the result
// read-only. Used by the engine. Any thread.
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
#include "jail/slot_numbers.h"
#include "launch/jail_home.h"
#include "launch/launch.h"
#include "store/layer_store.h"

namespace polybox::compile {

class Preparer {
 public:
  enum class Mode {
    kMake,  ///< A layer that is missing when it is requested a second time is made in the
            ///< background.
    kLook,  ///< Only layers that exist already are used.
  };

  /// Settings of a preparer.
  struct Options {
    /// Created if it does not exist.
    std::string directory;
    /// The size of all layers together. The default is twice what the built-in languages need,
    /// because during an upgrade old and new layers exist.
    Bytes size = Bytes::MiB(2048);
    Mode mode = Mode::kMake;
    /// The number of the preparer's slot. No other slot may have it; this one lies beside those of
    /// the installers (jail_installer.h).
    unsigned slot = jail::SlotNumber(jail::SlotUse::kPreparer, 0);
  };

  /// Opens the directory of the layers. `home` must outlive the preparer.
  static Result<std::unique_ptr<Preparer>> Open(const launch::JailHome& home, Options options,
                                                const log::Logger& log);
  /// Kills the command that runs and waits for the thread.
  ~Preparer();

  /// Returns the directory on the host of the layer for this installation. The layer is kept as
  /// long as the preparer exists. Returns "" if the language needs none or the layer does not exist
  /// yet. The objects that `installation` refers to must outlive the preparer.
  std::string Get(const launch::Installation& installation);
  /// Waits until no layer is being made and no job waits.
  void AwaitIdle();

 private:
  /// A layer to make.
  struct Job {
    std::string key;
    launch::Installation installation;
  };

  Preparer(const launch::JailHome& home, Options options, const log::Logger& log);

  /// Looks for a layer in the store. If it is missing, adds a job for it.
  std::string Look(const std::string& key, const launch::Installation& installation);
  /// The thread: makes the layers of the waiting jobs, one after the other.
  void Work(const std::stop_token& stop);
  /// Makes the layer of one job and logs the result.
  void Make(const Job& job, const std::stop_token& stop);
  /// Runs the command in a slot and copies its result into `directory`. Returns false when the
  /// command failed.
  Result<bool> Fill(const launch::Installation& installation, const std::string& directory,
                    const std::stop_token& stop);

  const launch::JailHome& home_;
  const Options options_;
  log::Logger log_;
  std::unique_ptr<store::LayerStore> layers_;
  /// Guards the members below. It is not held while a layer is made.
  std::mutex mutex_;
  /// Notified when a job is added and when one ends.
  std::condition_variable_any changed_;
  /// Layers in use, by key. An entry is never removed.
  std::map<std::string, store::LayerLease> ready_;
  std::deque<Job> waiting_;
  /// Whether the thread makes a layer now.
  bool busy_ = false;
  /// The keys that were requested at least once without a layer.
  std::set<std::string> asked_;
  /// The keys of layers that wait to be made, are being made, or could not be made.
  std::set<std::string> tried_;
  /// Started with the first job. The last member, so that it is joined before the other members are
  /// destroyed.
  std::jthread thread_;
};

}  // namespace polybox::compile

#include "compile/preparer.h"

#include <fcntl.h>

#include <sys/stat.h>

#include "base/files.h"
#include "compile/compile_key.h"
#include "launch/streams.h"
#include "sys/copy_tree.h"

namespace polybox::compile {
namespace {

constexpr const char* kFailed = "could not prepare the compiler cache; compiling without it";

bool Wants(const launch::Installation& installation) {
  const auto& compile = installation.language.compile;
  return compile && compile->prepare &&
         (installation.packages.empty() || !compile->prepare->unless_packages ||
          (launch::RequestsOf(installation) != nullptr && installation.preinstalled.empty()));
}

/// Returns the key of a layer: the name of a compile step without files that runs the preparation's
/// command.
Result<std::string> KeyOf(const launch::Installation& installation, jail::Grade grade) {
  POLYBOX_ASSIGN_OR_RETURN(const jail::RunRequest request, launch::PreparationFor(installation));
  return CompileKey({installation, {}, request, grade}).value_or("");
}

}  // namespace

Preparer::Preparer(const launch::JailHome& home, Options options, const log::Logger& log)
    : home_(home), options_(std::move(options)), log_(log) {}

Result<std::unique_ptr<Preparer>> Preparer::Open(const launch::JailHome& home, Options options,
                                                 const log::Logger& log) {
  std::unique_ptr<Preparer> preparer(new Preparer(home, std::move(options), log));
  POLYBOX_ASSIGN_OR_RETURN(preparer->layers_, store::LayerStore::Open({preparer->options_.directory,
                                                                       preparer->options_.size}));
  return preparer;
}

Preparer::~Preparer() {
  thread_.request_stop();
}

std::string Preparer::Get(const launch::Installation& installation) {
  // Without namespaces a jail has no fixed path at which the layer could be shown.
  if (!Wants(installation) || !jail::HasNamespaces(home_.grade())) return "";
  const Result<std::string> key = KeyOf(installation, home_.grade());
  if (!key.ok()) return "";
  {
    const std::lock_guard lock(mutex_);
    const auto found = ready_.find(*key);
    if (found != ready_.end()) return found->second.path();
    if (tried_.contains(*key)) return "";
  }
  return Look(*key, installation);
}

std::string Preparer::Look(const std::string& key, const launch::Installation& installation) {
  Result<store::LayerLease> lease = layers_->Use(key);
  const std::lock_guard lock(mutex_);
  if (lease.ok() && !lease->path().empty()) {
    const auto [found, added] = ready_.emplace(key, std::move(lease).value());
    return found->second.path();
  }
  // A layer is made only when it is requested a second time. For a single program it would not pay
  // off, and making it would slow that program down.
  const bool again = !asked_.insert(key).second;
  if (options_.mode == Mode::kLook || !again || !tried_.insert(key).second) return "";
  waiting_.push_back({key, installation});
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
  }
  changed_.notify_all();
  return "";
}

void Preparer::AwaitIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
}

void Preparer::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
    if (stop.stop_requested()) return;
    // A copy: the mutex is not held while the job runs, and other threads may add jobs.
    const Job job = waiting_.front();
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    Make(job, stop);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Preparer::Make(const Job& job, const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  Result<store::LayerStore::Made> made = layers_->Make(job.key, [&](const std::string& directory) {
    return Fill(job.installation, directory, stop);
  });
  const std::string& language = job.installation.language.id;
  if (!made.ok()) {
    log_.Warn(kFailed, {{"language", language}, {"reason", made.error().message()}});
    return;
  }
  const std::lock_guard lock(mutex_);
  // If another server made the layer, a later request finds it. A layer that failed is not tried
  // again.
  if (made->busy || made->there) tried_.erase(job.key);
  if (!made->fresh) return;
  // The lease stays in `ready_`, so no other server can remove the layer while this one shows it.
  ready_.emplace(job.key, std::move(made->lease));
  const auto took = std::chrono::steady_clock::now() - begin;
  log_.Info("prepared the compiler cache of a language",
            {{"language", language},
             {"bytes", made->size.count()},
             {"seconds", std::chrono::duration<double>(took).count()}});
}

Result<bool> Preparer::Fill(const launch::Installation& installation, const std::string& directory,
                            const std::stop_token& stop) {
  const languages::Limits& limits = installation.language.compile->prepare->limits;
  jail::Spec spec = launch::SpecFor(installation, home_.grade());
  // The command needs neither an interpreter that has started nor a network.
  spec.warm = {};
  spec.egress = false;
  spec.scratch = limits.disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(limits.inodes);
  POLYBOX_ASSIGN_OR_RETURN(jail::RunRequest request, launch::PreparationFor(installation));
  POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot, home_.MakeSlot(spec, options_.slot));
  POLYBOX_RETURN_IF_ERROR(slot.PutFiles({{launch::kTargetName, "", S_IFDIR | 0755}}));
  launch::Streams streams;
  streams.out = streams.err = [](std::string_view) {};
  streams.limit = limits.output;
  streams.cancel = stop;
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome outcome,
                           launch::RunWithStreams(slot, std::move(request), streams));
  if (stop.stop_requested()) return false;
  if (outcome.end != jail::End::kExited || outcome.exit_code != 0) {
    log_.Warn(kFailed, {{"language", installation.language.id},
                        {"end", jail::EndName(outcome.end)},
                        {"exit_code", outcome.exit_code}});
    return false;
  }
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd made, slot.OpenDirectory(launch::kTargetName));
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd copy, OpenFile(directory, O_RDONLY | O_DIRECTORY));
  POLYBOX_RETURN_IF_ERROR(sys::CopyGuestTree(
      made.get(), copy.get(),
      {.bytes = limits.disk, .entries = static_cast<std::size_t>(limits.inodes)}));
  return true;
}

}  // namespace polybox::compile

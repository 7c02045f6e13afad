#include "compile/compile_step.h"

#include <chrono>

namespace polybox::compile {
namespace {

using Clock = std::chrono::steady_clock;

// The largest output of a compiler that is cached. A result with more output is not stored.
constexpr std::size_t kMostSaid = 1 << 20;

bool Succeeded(const jail::Outcome& outcome) {
  return outcome.end == jail::End::kExited && outcome.exit_code == 0;
}

/// Performs one compile step with the cache.
class Step {
 public:
  Step(jail::Slot& slot, CompileCache& cache, const CompileJob& job, std::string key)
      : slot_(slot), cache_(cache), job_(job), key_(std::move(key)) {}

  Result<Compiled> Run() {
    POLYBOX_ASSIGN_OR_RETURN(std::optional<Compiled> found, Look());
    if (found) return *found;
    // A thread that had to wait gets no turn and does not wait again. Otherwise the threads that
    // waited for a failing compiler would also wait for each other.
    const CompileCache::Turn turn = cache_.TakeTurn(key_, job_.cancel);
    POLYBOX_ASSIGN_OR_RETURN(found, Look());
    if (found) return *found;
    return Compile();
  }

 private:
  /// Takes the result from the cache if it is what the compiler would have produced.
  Result<std::optional<Compiled>> Look() {
    const auto begin = Clock::now();
    const std::optional<CompiledEntry> entry = cache_.Find(key_);
    if (!entry || !Fits(*entry)) return std::optional<Compiled>();
    POLYBOX_RETURN_IF_ERROR(slot_.PutPacked(entry->files, entry->file.get()));
    for (const Said& said : entry->said) job_.listener(said.stream, said.text);
    Compiled compiled = {entry->outcome, true};
    compiled.outcome.wall = Clock::now() - begin;
    compiled.outcome.cpu_user = compiled.outcome.cpu_system = Duration{};
    return std::optional(std::move(compiled));
  }

  /// Returns whether the step's limits allow what the compiler needed. If not, the compiler must
  /// run, so that the request exceeds its limit.
  bool Fits(const CompiledEntry& entry) const {
    const jail::RunLimits& limits = job_.sight.request.limits;
    const Duration cpu =
        entry.outcome.cpu_user.value_or(Duration{}) + entry.outcome.cpu_system.value_or(Duration{});
    if (entry.outcome.wall > limits.wall_time || cpu > limits.cpu_time) return false;
    std::size_t size = 0;
    for (const Said& said : entry.said) size += said.text.size();
    return !job_.output || size <= job_.output->count();
  }

  Result<Compiled> Compile() {
    POLYBOX_RETURN_IF_ERROR(slot_.PutFiles(job_.sight.files));
    POLYBOX_ASSIGN_OR_RETURN(
        const jail::Outcome outcome,
        job_.run([this](launch::Stream stream, std::string_view text) { Listen(stream, text); }));
    Compiled compiled = {outcome, false};
    if (!Succeeded(outcome) || said_size_ > kMostSaid || !Keep(outcome)) return compiled;
    // From here on the slot gets the files of the cache entry. What the compiler left elsewhere,
    // and the order in which it wrote files, must not reach the program.
    const std::optional<CompiledEntry> entry = cache_.Find(key_);
    if (!entry) return compiled;
    POLYBOX_RETURN_IF_ERROR(slot_.Reset());
    POLYBOX_RETURN_IF_ERROR(slot_.PutPacked(entry->files, entry->file.get()));
    return compiled;
  }

  void Listen(launch::Stream stream, std::string_view text) {
    said_size_ += text.size();
    if (said_size_ <= kMostSaid) said_.push_back({stream, std::string(text)});
    job_.listener(stream, text);
  }

  /// Returns whether the result was stored. Neither a cache that cannot be written nor a result
  /// unfit for it is an error: the next request just compiles again.
  bool Keep(const jail::Outcome& outcome) {
    const Result<UniqueFd> directory = slot_.OpenDirectory("");
    if (!directory.ok()) return false;
    return cache_
        .Store(directory->get(),
               {.key = key_, .inputs = job_.sight.files, .said = said_, .outcome = outcome})
        .ok();
  }

  jail::Slot& slot_;
  CompileCache& cache_;
  const CompileJob& job_;
  const std::string key_;
  std::vector<Said> said_;
  std::size_t said_size_ = 0;
};

}  // namespace

Result<Compiled> CompileIn(jail::Slot& slot, CompileCache* cache, const CompileJob& job) {
  // Without namespaces each slot has its own paths, and compilers write paths into their results.
  const bool cacheable = cache != nullptr && jail::HasNamespaces(job.sight.grade);
  std::optional<std::string> key = cacheable ? CompileKey(job.sight) : std::nullopt;
  if (key) return Step(slot, *cache, job, *std::move(key)).Run();
  POLYBOX_RETURN_IF_ERROR(slot.PutFiles(job.sight.files));
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome outcome, job.run(job.listener));
  return Compiled{outcome, std::nullopt};
}

}  // namespace polybox::compile

#include "http/readiness.h"

#include "sys/disk_space.h"

namespace polybox::http {

std::string WithoutPaths(std::string_view text) {
  std::string plain;
  bool in_path = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = text[i] == '/' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '(');
    if (begins) plain += "a path";
    const bool ends = text[i] == ' ' || text[i] == ')' || text[i] == ':' || text[i] == ',';
    in_path = (in_path || begins) && !ends;
    if (!in_path) plain += text[i];
  }
  return plain;
}

void Readiness::SetTrial(const Status& trial) {
  const std::lock_guard lock(mutex_);
  trial_failure_ = trial.ok() ? "" : "no program can run: " + WithoutPaths(trial.error().message());
}

bool Readiness::AwaitQuestion(const std::stop_token& stop, Pauses pauses) const {
  std::unique_lock lock(mutex_);
  const auto begin = std::chrono::steady_clock::now();
  asked_.wait_until(lock, stop, begin + pauses.shortest, [] { return false; });
  asked_.wait_until(lock, stop, begin + pauses.longest, [&] { return question_; });
  if (stop.stop_requested()) return false;
  question_ = false;
  return true;
}

Condition Readiness::Look() const {
  Condition condition;
  if (draining_) condition.obstacles.emplace_back("the server is about to end");
  {
    const std::lock_guard lock(mutex_);
    question_ = true;
    if (!trial_failure_.empty()) condition.obstacles.push_back(trial_failure_);
  }
  asked_.notify_all();
  // Programs also run without a cache.
  if (options_.cache_dir.empty()) return condition;
  const std::string wrong = sys::WrongWithDisk(options_.cache_dir, options_.least_free);
  if (!wrong.empty()) condition.remarks.push_back("the disk of the cache " + wrong);
  return condition;
}

}  // namespace polybox::http

// What the bodies of all requests may take of memory together. A connection takes from it as bytes
// arrive, so that who only announces a large body holds nothing, and gives back when the request is
// over. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace polybox::http {

class BodyMemory {
 public:
  explicit BodyMemory(std::size_t most) : most_(most) {}

  /// A part of it; given back when it goes.
  class Share {
   public:
    explicit Share(std::shared_ptr<BodyMemory> memory) : memory_(std::move(memory)) {}
    Share(Share&& other) noexcept : memory_(other.memory_), held_(std::exchange(other.held_, 0)) {}
    Share& operator=(Share&&) = delete;
    ~Share() { Release(); }

    void Release() { memory_->taken_ -= std::exchange(held_, 0); }

    /// Holds `size` from here on, if there is as much; less than it holds changes nothing.
    bool Grow(std::size_t size) {
      if (size <= held_) return true;
      if (!memory_->Take(size - held_)) return false;
      held_ = size;
      return true;
    }

   private:
    std::shared_ptr<BodyMemory> memory_;
    std::size_t held_ = 0;
  };

  std::size_t most() const { return most_; }
  /// Whether as much is free now.
  bool Has(std::size_t size) const { return size <= most_ - std::min(most_, taken_.load()); }

 private:
  bool Take(std::size_t size) {
    std::size_t taken = taken_;
    do {
      if (size > most_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + size));
    return true;
  }

  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace polybox::http

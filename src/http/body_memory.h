// Limits the memory for the bodies of all requests together. A connection takes memory as bytes
// arrive, so a client that only announces a large body holds none. The connection gives the memory
// back when its request is over. Any thread may use it.
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

  /// A part of the memory. The destructor gives the part back. One thread at a time may use a
  /// Share.
  class Share {
   public:
    explicit Share(std::shared_ptr<BodyMemory> memory) : memory_(std::move(memory)) {}
    Share(Share&& other) noexcept : memory_(other.memory_), held_(std::exchange(other.held_, 0)) {}
    Share& operator=(Share&&) = delete;
    ~Share() { Release(); }

    void Release() { memory_->taken_ -= std::exchange(held_, 0); }

    /// Increases the share to `size` if that much memory is free, else returns false. A smaller
    /// `size` has no effect.
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
  /// Whether `size` bytes are free now. Another thread may take them at any time.
  bool Has(std::size_t size) const { return size <= most_ - std::min(most_, taken_.load()); }

 private:
  // Takes `size` bytes, or returns false. The compare-and-exchange loop keeps the total at or below
  // most_, whatever other threads take meanwhile.
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

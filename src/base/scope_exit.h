// ScopeExit runs a function when its scope ends, for cleanups that no owner type covers.
#pragma once

#include <utility>

namespace polybox {

template <typename Function>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Function function) : function_(std::move(function)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  ~ScopeExit() {
    if (armed_) function_();
  }

  /// The function will not be called.
  void Cancel() { armed_ = false; }

 private:
  Function function_;
  bool armed_ = true;
};

}  // namespace polybox

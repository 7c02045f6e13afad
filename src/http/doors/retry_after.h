// The Retry-After header of a refusal.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "exec/request.h"

namespace polybox::http {

/// Returns the seconds as a whole number, at least 1, because clients take 0 for "at once".
inline std::string RetryAfter(const exec::Refusal& refusal) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(refusal.retry_after).count();
  return std::to_string(std::max<std::int64_t>(1, seconds));
}

}  // namespace polybox::http

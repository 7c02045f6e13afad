// The state of a call between its rounds: what the client has answered so far. The client keeps the
// state and sends it back, so a seal binds it to the caller, to the request and to a time. The
// state is readable; it holds only what the client itself has said. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "json/value.h"
#include "mcp/json_rpc.h"

namespace polybox::mcp {

class StateSeal {
 public:
  /// `lifetime` is how long a person may think about a question.
  explicit StateSeal(Duration lifetime = std::chrono::hours(1));

  /// Returns the text of the state. Fails if the answers are too long to be sent around.
  Result<std::string> Close(const json::Object& answers, const Request& request,
                            std::string_view principal) const;
  /// Returns the answers. Fails if the text is not one that Close() made for the same request of
  /// the same caller, or if it is too old.
  Result<json::Object> Open(std::string_view state, const Request& request,
                            std::string_view principal) const;

 private:
  /// Returns the seal of `payload`, in hexadecimal.
  std::string Sign(std::string_view payload, const Request& request,
                   std::string_view principal) const;

  const Duration lifetime_;
  std::array<unsigned char, 32> key_{};
};

}  // namespace polybox::mcp

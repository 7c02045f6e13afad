// A text that a guest chose and that could reach the log. Examples are a host name that the guest
// requests from its egress proxy, and the output of an interpreter in a jail. The type is separate
// from std::string, so that the compiler keeps its bytes out of the log: log::Field cannot be made
// from it. Escaped() returns the text for the log, shortened and without control characters.
#pragma once

#include <string>
#include <utility>

#include "base/printable.h"

namespace polybox {

class GuestBytes {
 public:
  GuestBytes() = default;
  explicit GuestBytes(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// The text for the log: escaped as in base/printable.h, and at most `longest` bytes.
  std::string Escaped(std::size_t longest) const { return Printable(bytes_, longest); }
  /// The bytes, for the guest or client to which the text belongs. Must not reach the log.
  const std::string& Reveal() const& { return bytes_; }
  std::string Reveal() && { return std::move(bytes_); }
  bool operator==(const GuestBytes&) const = default;

 private:
  std::string bytes_;
};

}  // namespace polybox

// GuestBytes marks what came from a guest or is meant for one: its code, its input, its output. It
// is a type of its own so that the compiler keeps it out of the log (log::Field cannot be made from
// it).
#pragma once

#include <string>
#include <utility>

namespace polybox {

class GuestBytes {
 public:
  GuestBytes() = default;
  explicit GuestBytes(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// For whoever hands it to the guest or to the client it belongs to; never for the log.
  const std::string& Reveal() const& { return bytes_; }
  std::string Reveal() && { return std::move(bytes_); }
  bool operator==(const GuestBytes&) const = default;

 private:
  std::string bytes_;
};

}  // namespace polybox

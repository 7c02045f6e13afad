#include "base/uuid.h"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>
#include <sys/random.h>

namespace polybox {

std::string NewUuid() {
  std::array<unsigned char, 16> bytes{};
  // Never fails for so few bytes once the system has started.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device source;
    std::ranges::generate(bytes, [&] { return static_cast<unsigned char>(source()); });
  }
  bytes[6] = (bytes[6] & 0x0fU) | 0x40U;
  bytes[8] = (bytes[8] & 0x3fU) | 0x80U;
  std::string id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += fmt::format("{:02x}", bytes[i]);
  }
  return id;
}

}  // namespace polybox

#include "secrets/literal_index.h"

#include <algorithm>
#include <cctype>

namespace polybox::secrets {
namespace {

char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}
char Upper(char c) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

}  // namespace

void LiteralIndex::Add(std::string literal, Case letters, std::uint32_t owner) {
  const auto number = static_cast<std::uint32_t>(literals_.size());
  // Each of the three bytes in upper and lower case: eight keys, of which some may be equal.
  for (unsigned choice = 0; choice < (letters == Case::kAny ? 8U : 1U); ++choice) {
    char bytes[4] = {};
    for (std::size_t i = 0; i < kKeySize; ++i) {
      const bool upper = ((choice >> i) & 1U) != 0;
      bytes[i] = letters == Case::kExact ? literal[i]
                 : upper                 ? Upper(literal[i])
                                         : Lower(literal[i]);
    }
    std::uint32_t key = 0;
    std::memcpy(&key, bytes, sizeof key);
    std::vector<std::uint32_t>& bucket = buckets_[key];
    if (std::ranges::count(bucket, number) == 0) bucket.push_back(number);
    const std::uint32_t hash = Hash(key);
    filter_[hash >> 6U] |= std::uint64_t{1} << (hash & 63U);
  }
  literals_.push_back({std::move(literal), letters, owner});
}

bool LiteralIndex::Matches(const Literal& literal, std::string_view text) {
  if (text.size() < literal.text.size()) return false;
  const std::string_view here = text.substr(0, literal.text.size());
  if (literal.letters == Case::kExact) return here == literal.text;
  return std::ranges::equal(here, literal.text, {}, Lower, Lower);
}

}  // namespace polybox::secrets

#include <array>

#include "verify/parsers/all.h"

namespace polybox::verify {
namespace {

// Sorted by name.
constexpr auto kParsers = std::to_array<Parser>({
    {"exit-status", ParserKind::kFindings, Ends::kLines, ParseExitStatus},
});

}  // namespace

std::span<const Parser> AllParsers() {
  return kParsers;
}

}  // namespace polybox::verify

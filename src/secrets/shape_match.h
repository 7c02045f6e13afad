// Decides whether a start of a token in a text begins a real token. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "secrets/shape.h"
#include "secrets/text_scan.h"

namespace polybox::secrets {

/// Appends the parts of `text` that are to be removed because of the start at `at`; none if no
/// token starts there. `start` is the part of `text` that is one of the shape's starts; for
/// assignments the case of its letters may differ.
void MatchShape(const Shape& shape, std::string_view text, Span start, std::vector<Span>& found);

}  // namespace polybox::secrets

// Makes one visitor for std::visit out of one function for each alternative of a variant. The
// compiler then rejects a visit that misses an alternative.
#pragma once

namespace polybox {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace polybox

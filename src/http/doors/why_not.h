// Why a language does not run on this host, for the answers of doors and tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exec/catalog.h"

namespace polybox::http {

/// Returns a function that says why a known language does not run on this host, with what to do;
/// "" for any other name. `catalog` must outlive the function.
std::function<std::string(std::string_view name)> WhyNotIn(const exec::Catalog& catalog);

}  // namespace polybox::http

// Reports as JSON: for caches, for the answers of programs, and for the expected reports of tests.
// Any thread.
#pragma once

#include "json/value.h"
#include "verify/report.h"

namespace polybox::verify {

/// Returns an object with one member, which is named after the kind of the report: `unreadable`,
/// `tests`, `findings`, `format` or `coverage`.
json::Object ToJson(const Report& report);

}  // namespace polybox::verify

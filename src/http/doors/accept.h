// Reads the Accept header of a request: whether the client prefers a page for people to JSON.
#pragma once

#include "http/exchange.h"

namespace polybox::http {

/// Returns whether the client names text/html and likes it better than JSON, as browsers do when
/// they open an address. JSON is for all others: clients that name no type, that take anything, or
/// whose header is malformed. (Java's HttpURLConnection sends a malformed header with text/html.)
bool PrefersPage(const Request& request);

}  // namespace polybox::http

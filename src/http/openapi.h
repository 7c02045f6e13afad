// Makes the OpenAPI document of a server. The files of api/ contain what is the same for every
// server. What depends on the settings (routes, limits, languages, whether a token is needed) comes
// from the doors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"
#include "http/exchange.h"

namespace polybox::http {

struct ApiFacts {
  std::string version = {};
  /// Whether clients need a token. Routes that are open to probes need none in any case.
  bool needs_token = false;
};

/// Returns the files of api/, which are compiled into the binary. Each is a part of one document;
/// objects of the same name are merged. NAME.json is the part of the door NAME, and document.json
/// has what belongs to no door. Besides OpenAPI the files contain
///   "x-every-operation", "x-every-response": members that each operation or response gets unless
///       it has its own;
///   "x-language": an example with this member is left out by a server without that language;
///   "{door.fact}": a fact of a door (Door::facts) or of the server. A string that is only this
///       becomes the fact's JSON; inside a longer string the fact's text is inserted.
std::span<const EmbeddedFile> ApiFiles();

/// Returns the document of a server with these doors. Operations without a route are left out. An
/// error is a mistake in api/.
Result<std::string> DescribeApi(const std::vector<Door>& doors, const ApiFacts& facts);

}  // namespace polybox::http

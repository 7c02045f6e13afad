// The OpenAPI document of a server. The files of api/ hold what is true of every server; what
// depends on how this one was started (its routes, limits and languages, whether a token is needed)
// comes from its doors.
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
  /// Whether a token is needed, and what needs none: "GET /health".
  bool needs_token = false;
  std::vector<std::string> open = {};
};

/// The files of api/, as compiled into the binary. Each is a part of one document: objects of the
/// same name become one. Beside OpenAPI they have
///   "x-every-operation", "x-every-response": members that each operation or response gets unless
///       it has its own;
///   "x-language": an example with it is left out by a server that does not have the language;
///   "{door.fact}": a fact of a door (Door::facts) or of the server; as a whole text it stands for
///       the fact's own JSON, within one for its text.
std::span<const EmbeddedFile> ApiFiles();

/// The document of a server with these doors and that of MakeApiDoor: operations without a route
/// are left out. An error is a mistake in api/.
Result<std::string> DescribeApi(const std::vector<Door>& doors, const ApiFacts& facts);

/// GET and HEAD /openapi.json: the document of `doors` and of this one.
Result<Door> MakeApiDoor(const std::vector<Door>& doors, const ApiFacts& facts);

}  // namespace polybox::http

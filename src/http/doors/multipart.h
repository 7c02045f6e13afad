// Finds a file in a multipart/form-data body. Everything that a sender decides is bounded: the
// number of parts, the size of their headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::http {

struct UploadedFile {
  std::string filename;
  /// Into the body.
  std::string_view content;
};

/// The first part called `name` that has a file name; nothing when there is none. An error when the
/// body is not what `content_type` says.
Result<std::optional<UploadedFile>> FindUpload(std::string_view content_type, std::string_view body,
                                               std::string_view name);

}  // namespace polybox::http

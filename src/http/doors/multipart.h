// Finds a file in a multipart/form-data body. The number of parts and the size of their headers are
// limited, because a sender chooses both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::http {

struct UploadedFile {
  std::string filename;
  /// Points into the body.
  std::string_view content;
};

/// Returns the first part called `name` that has a file name; nothing when there is none. Returns
/// an error when the body does not match `content_type`.
Result<std::optional<UploadedFile>> FindUpload(std::string_view content_type, std::string_view body,
                                               std::string_view name);

}  // namespace polybox::http

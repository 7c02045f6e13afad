#include "tools/media_type.h"

namespace polybox::tools {

std::string_view ImageType(std::string_view first_bytes) {
  using namespace std::string_view_literals;
  if (first_bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return "image/png";
  if (first_bytes.starts_with("\xff\xd8\xff"sv)) return "image/jpeg";
  if (first_bytes.starts_with("GIF87a"sv) || first_bytes.starts_with("GIF89a"sv)) {
    return "image/gif";
  }
  const bool riff = first_bytes.starts_with("RIFF"sv) && first_bytes.size() >= 12;
  return riff && first_bytes.substr(8, 4) == "WEBP"sv ? "image/webp" : "";
}

bool IsBinary(std::string_view first_bytes) {
  return first_bytes.substr(0, kProbedBytes).find('\0') != std::string_view::npos;
}

}  // namespace polybox::tools

#include "workspace/system_text.h"

#include <cctype>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace polybox::workspace {

std::string SystemText(int system_errno) {
  std::string text = std::generic_category().message(system_errno);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Error CallError(std::string_view call, std::string_view path, int system_errno) {
  const bool absent = system_errno == ENOENT || system_errno == ENOTDIR;
  return {absent ? ErrorKind::kNotFound : ErrorKind::kSystem,
          fmt::format("{} {}: {}", call, path, SystemText(system_errno))};
}

}  // namespace polybox::workspace

#include "http/exchange.h"

#include <strings.h>

namespace polybox::http {

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (known.size() == name.size() && ::strncasecmp(known.data(), name.data(), name.size()) == 0) {
      return value;
    }
  }
  return "";
}

}  // namespace polybox::http

#include "http/doors/why_not.h"

#include <fmt/format.h>

namespace polybox::http {

std::function<std::string(std::string_view name)> WhyNotIn(const exec::Catalog& catalog) {
  return [&catalog](std::string_view name) -> std::string {
    const Error* why = catalog.WhyNot(name);
    return why == nullptr ? "" : fmt::format("{}; {}", why->message(), why->fix());
  };
}

}  // namespace polybox::http

#include "http/doors/limit_schemas.h"

#include <vector>

#include "json/write.h"
#include "limits/table.h"

namespace polybox::http {
namespace {

using Limits = std::vector<const limits::Limit*>;

std::string Names(const Limits& limits) {
  json::Array names;
  for (const limits::Limit* limit : limits) names.emplace_back(limit->listed.name);
  return json::Write(names);
}

std::string Schemas(const Limits& limits, std::int64_t minimum) {
  json::Object schemas;
  for (const limits::Limit* limit : limits) {
    schemas[limit->listed.name] = json::Object{{"type", "integer"}, {"minimum", minimum}};
  }
  return json::Write(schemas);
}

}  // namespace

std::map<std::string, std::string> LimitFacts() {
  const Limits listed = limits::InOrderOf(&limits::Limit::listed);
  Limits changing;
  for (const limits::Limit& limit : limits::kLimits) {
    if (limit.Changes()) changing.push_back(&limit);
  }
  return {{"limit_names", Names(listed)},
          {"limit_schemas", Schemas(listed, 0)},
          {"changing_limit_schemas", Schemas(changing, 1)}};
}

}  // namespace polybox::http

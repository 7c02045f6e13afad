#include "http/doors/limit_schemas.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "limits/table.h"

namespace polybox::http {
namespace {

namespace json = boost::json;

TEST(LimitFacts, EachLimitIsRequiredAndDescribedInTheOrderOfGetLanguages) {
  json::array names;
  json::object schemas;
  for (const limits::Limit* limit : limits::InOrderOf(&limits::Limit::listed)) {
    names.emplace_back(std::string(limit->listed.name));
    schemas.emplace(std::string(limit->listed.name),
                    json::object{{"type", "integer"}, {"minimum", 0}});
  }
  const std::map<std::string, std::string> facts = LimitFacts();
  EXPECT_EQ(facts.at("limit_names"), json::serialize(names));
  EXPECT_EQ(facts.at("limit_schemas"), json::serialize(schemas));
}

TEST(LimitFacts, ARequestMayHaveTheLimitsThatItMayChange) {
  const json::value schemas = json::parse(LimitFacts().at("changing_limit_schemas"));
  for (const limits::Limit& limit : limits::kLimits) {
    const json::value* schema = schemas.as_object().if_contains(std::string(limit.listed.name));
    ASSERT_EQ(schema != nullptr, limit.Changes()) << limit.key;
    if (schema == nullptr) continue;
    EXPECT_EQ(schema->at("minimum"), 1) << limit.key;
  }
}

}  // namespace
}  // namespace polybox::http

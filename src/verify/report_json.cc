#include "verify/report_json.h"

#include "base/overloaded.h"
#include "json/bind.h"

namespace polybox::verify {

json::Object ToJson(const Report& report) {
  return std::visit(
      Overloaded{
          [](const Unreadable& value) { return json::Object{{"unreadable", json::Encode(value)}}; },
          [](const TestReport& value) { return json::Object{{"tests", json::Encode(value)}}; },
          [](const FindingReport& value) {
            return json::Object{{"findings", json::Encode(value)}};
          },
          [](const FormatReport& value) { return json::Object{{"format", json::Encode(value)}}; },
          [](const CoverageReport& value) {
            return json::Object{{"coverage", json::Encode(value)}};
          }},
      report);
}

}  // namespace polybox::verify

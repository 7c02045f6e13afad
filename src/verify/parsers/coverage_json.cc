// The JSON reports of coverage tools: coverage.py, Istanbul (nyc, jest, c8), gcovr and SimpleCov.
#include <string>

#include "verify/coverage.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

using Lines = CoverageCollector::Lines;

/// Reads the document, and calls `add` with its object and the report that is being built.
template <typename Add>
Report ReadObject(const ParserInput& input, std::string_view what, Add add) {
  const auto read = [&]() -> Result<CoverageReport> {
    POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), what));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, what));
    CoverageCollector coverage(input.root);
    POLYBOX_RETURN_IF_ERROR(add(*report, coverage));
    return coverage.Take();
  };
  return ToReport(read());
}

constexpr std::string_view kCoveragePy = "coverage.py's JSON";

Status AddCoveragePy(const json::Object& report, CoverageCollector& coverage) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* files, NeedObject(report, "files", kCoveragePy));
  for (const auto& [name, value] : *files) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(value, kCoveragePy));
    Lines& lines = coverage.File(name);
    const auto add = [&](std::string_view list, std::int64_t hits) -> Status {
      POLYBOX_ASSIGN_OR_RETURN(const json::Array* numbers, NeedArray(*file, list, kCoveragePy));
      for (const json::Value& number : *numbers) {
        if (number.is_int64()) CoverageCollector::Hit(lines, number.get_int64(), hits);
      }
      return {};
    };
    POLYBOX_RETURN_IF_ERROR(add("executed_lines", 1));
    POLYBOX_RETURN_IF_ERROR(add("missing_lines", 0));
  }
  return {};
}

constexpr std::string_view kIstanbul = "Istanbul's JSON";

/// A statement counts for the line on which it begins, as in Istanbul's own reports.
Status AddIstanbul(const json::Object& report, CoverageCollector& coverage) {
  for (const auto& [name, value] : report) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(value, kIstanbul));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* places,
                             NeedObject(*file, "statementMap", kIstanbul));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* counts, NeedObject(*file, "s", kIstanbul));
    Lines& lines = coverage.File(name);
    for (const auto& [id, place] : *places) {
      const json::Object* object = place.if_object();
      const json::Object* start = object != nullptr ? ObjectIn(*object, "start") : nullptr;
      if (start == nullptr) return NotThis(kIstanbul, "a statement without a place");
      CoverageCollector::Hit(lines, NumberIn(*start, "line"), NumberIn(*counts, id));
    }
  }
  return {};
}

constexpr std::string_view kGcovr = "gcovr's JSON";

Status AddGcovr(const json::Object& report, CoverageCollector& coverage) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* files, NeedArray(report, "files", kGcovr));
  for (const json::Value& value : *files) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(value, kGcovr));
    POLYBOX_ASSIGN_OR_RETURN(const json::Array* rows, NeedArray(*file, "lines", kGcovr));
    Lines& lines = coverage.File(TextIn(*file, "file"));
    for (const json::Value& row : *rows) {
      POLYBOX_ASSIGN_OR_RETURN(const json::Object* line, AsObject(row, kGcovr));
      if (TrueIn(*line, "gcovr/noncode") || TrueIn(*line, "gcovr/excluded")) continue;
      CoverageCollector::Hit(lines, NumberIn(*line, "line_number"), NumberIn(*line, "count"));
    }
  }
  return {};
}

constexpr std::string_view kSimplecov = "SimpleCov's JSON";

Status AddSimplecovFiles(const json::Object& files, CoverageCollector& coverage) {
  for (const auto& [name, value] : files) {
    // Before SimpleCov 0.18, a file is the list itself.
    const json::Array* hits = value.if_array();
    if (hits == nullptr) {
      POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(value, kSimplecov));
      POLYBOX_ASSIGN_OR_RETURN(hits, NeedArray(*file, "lines", kSimplecov));
    }
    Lines& lines = coverage.File(name);
    std::int64_t number = 0;
    for (const json::Value& hit : *hits) {
      ++number;
      if (hit.is_int64()) CoverageCollector::Hit(lines, number, hit.get_int64());
    }
  }
  return {};
}

/// The result set has an object for each suite; coverage.json has the files alone.
Status AddSimplecov(const json::Object& report, CoverageCollector& coverage) {
  if (const json::Object* files = ObjectIn(report, "coverage")) {
    return AddSimplecovFiles(*files, coverage);
  }
  if (report.empty()) return NotThis(kSimplecov, "it has no suite");
  for (const auto& [suite, value] : report) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* object, AsObject(value, kSimplecov));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* files,
                             NeedObject(*object, "coverage", kSimplecov));
    POLYBOX_RETURN_IF_ERROR(AddSimplecovFiles(*files, coverage));
  }
  return {};
}

}  // namespace

Report ParseCoveragePyJson(const ParserInput& input) {
  return ReadObject(input, kCoveragePy, AddCoveragePy);
}

Report ParseIstanbulJson(const ParserInput& input) {
  return ReadObject(input, kIstanbul, AddIstanbul);
}

Report ParseGcovrJson(const ParserInput& input) {
  return ReadObject(input, kGcovr, AddGcovr);
}

Report ParseSimplecovJson(const ParserInput& input) {
  return ReadObject(input, kSimplecov, AddSimplecov);
}

}  // namespace polybox::verify

#include "json/line_parser.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>

#include "base/printable.h"
#include "json/parse.h"

namespace polybox::json {
namespace {

/// Lines up to this length are parsed in the memory that all lines share. Their values need at most
/// some tens of times as much: "[[],[]" is the worst.
constexpr std::size_t kShortLine = 4096;
constexpr std::size_t kDepth = ParseLimits{}.depth;

}  // namespace

struct LineParser::State {
  State() : parser(boost::json::storage_ptr(), Options(), work.data(), work.size()) {}

  static boost::json::parse_options Options() {
    boost::json::parse_options options;
    options.max_depth = kDepth;
    return options;
  }

  /// Returns the object on a short line; null if anything is wrong with it.
  const Object* ParseShort(std::string_view line);

  std::array<unsigned char, 16'384> work = {};
  std::array<unsigned char, 65'536> memory = {};
  boost::json::parser parser;
  /// The memory of `value`; made anew for each line.
  std::optional<boost::json::monotonic_resource> resource;
  std::optional<Value> value;
};

const Object* LineParser::State::ParseShort(std::string_view line) {
  value.reset();
  resource.emplace(memory.data(), memory.size());
  parser.reset(&*resource);
  boost::json::error_code error;
  const std::size_t read = parser.write_some(line.data(), line.size(), error);
  const bool whole = !error && line.find_first_not_of(" \t\r\n", read) == std::string_view::npos;
  if (!whole) return nullptr;
  value.emplace(parser.release());
  return value->if_object();
}

LineParser::LineParser() : state_(std::make_unique<State>()) {}
LineParser::~LineParser() = default;

Result<const Object*> LineParser::Parse(std::string_view line) {
  State& state = *state_;
  if (line.size() <= kShortLine) {
    if (const Object* object = state.ParseShort(line)) return object;
  }
  // A long line, or one with a fault that Parse() explains.
  Result<Value> value = json::Parse(line);
  if (!value.ok()) {
    const std::string repaired = ToUtf8(line);
    if (repaired != line) value = json::Parse(repaired);
  }
  if (!value.ok()) return std::move(value).error();
  state.value.reset();
  state.value.emplace(std::move(value).value());
  const Object* object = state.value->if_object();
  if (object != nullptr) return object;
  return Error(ErrorKind::kInvalid, "not JSON: no object");
}

}  // namespace polybox::json

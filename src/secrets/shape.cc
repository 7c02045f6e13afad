#include "secrets/shape.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "schema/reader.h"

namespace polybox::secrets {
namespace {

using schema::Need;
using schema::Reader;

/// The scanner finds starts by their first three bytes.
constexpr std::size_t kShortestStart = 3;
constexpr std::pair<std::string_view, ShapeForm> kForms[] = {
    {"token", ShapeForm::kToken},        {"jwt", ShapeForm::kJwt},
    {"key-block", ShapeForm::kKeyBlock}, {"assignment", ShapeForm::kAssignment},
    {"header", ShapeForm::kHeader},      {"url", ShapeForm::kUrl},
};

std::optional<std::string> CheckName(const std::string& name) {
  const Characters allowed("a-z0-9-");
  if (!name.empty() && allowed.Span(name, name.size()) == name.size()) return std::nullopt;
  return "expected a word of a-z, 0-9 and -";
}

std::optional<std::string> CheckText(const std::string& text) {
  return text.empty() ? std::optional<std::string>("expected some text") : std::nullopt;
}

std::optional<std::string> CheckStart(const std::string& start) {
  if (start.size() >= kShortestStart) return std::nullopt;
  return fmt::format("expected at least {} characters", kShortestStart);
}

std::optional<std::string> CheckCount(const std::int64_t& count) {
  // Scanning a value takes at most this many steps.
  constexpr std::int64_t kMost = 65536;
  if (count > 0 && count <= kMost) return std::nullopt;
  return fmt::format("expected a number from 1 to {}", kMost);
}

Shape ReadRow(Reader& reader) {
  Shape shape;
  std::string form = "token";
  std::string characters;
  std::string reason;
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
  std::vector<std::string> needs;
  std::int64_t entropy = 0;
  reader.Read("name", shape.name, Need::kRequired, CheckName);
  reader.Read("form", form, Need::kOptional,
              schema::OneOf({"token", "jwt", "key-block", "assignment", "header", "url"}));
  reader.ReadSome("starts", shape.starts, Need::kRequired, CheckStart);
  reader.Read("characters", characters, Need::kRequired, CheckText);
  reader.Read("shortest", shortest, Need::kRequired, CheckCount);
  reader.Read("longest", longest, Need::kRequired, CheckCount);
  reader.Read("needs", needs, Need::kOptional, schema::OneOf({"digit", "upper", "lower"}));
  reader.Read("entropy_tenths", entropy);
  reader.Read("reason", reason, Need::kRequired, CheckText);
  if (longest < shortest) reader.Conflict("longest", "longest is less than shortest");
  for (const auto& [word, value] : kForms) {
    if (word == form) shape.form = value;
  }
  shape.characters = Characters(characters);
  shape.shortest = static_cast<std::size_t>(shortest);
  shape.longest = static_cast<std::size_t>(longest);
  shape.needs_digit = std::ranges::count(needs, "digit") != 0;
  shape.needs_upper = std::ranges::count(needs, "upper") != 0;
  shape.needs_lower = std::ranges::count(needs, "lower") != 0;
  shape.entropy = static_cast<double>(entropy) / 10;
  return shape;
}

}  // namespace

Characters::Characters(std::string_view ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto first = static_cast<unsigned char>(ranges[i]);
    const bool range = i + 2 < ranges.size() && ranges[i + 1] == '-';
    const auto last = static_cast<unsigned char>(range ? ranges[i + 2] : ranges[i]);
    for (unsigned c = first; c <= last; ++c) has_[c] = true;
    if (range) i += 2;
  }
}

std::size_t Characters::Span(std::string_view text, std::size_t most) const {
  const std::size_t end = std::min(text.size(), most);
  std::size_t size = 0;
  while (size < end && Has(text[size])) ++size;
  return size;
}

Result<std::vector<Shape>> ParseShapes(std::string_view toml, const std::string& origin) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(toml, origin));
  schema::Problems problems(origin);
  std::vector<Shape> shapes;
  {
    Reader reader(table, problems);
    for (Reader& row : reader.SubList("shape")) shapes.push_back(ReadRow(row));
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return shapes;
}

Result<std::vector<Shape>> BuiltinShapes() {
  const EmbeddedFile& file = ShapeFiles().front();
  return ParseShapes(file.content, std::string(file.name));
}

}  // namespace polybox::secrets

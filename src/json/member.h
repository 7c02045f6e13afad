// Describes the JSON form of a struct. The struct has a static function Members() that returns
// one row for each member. json/bind.h decodes, encodes and makes the JSON Schema by these rows:
//
//   struct ReadArguments {
//     std::string file_path;
//     std::int64_t limit = 2000;
//     static constexpr auto Members() {
//       return std::tuple(
//           json::Required("file_path", &ReadArguments::file_path, "Path of the file").NotEmpty(),
//           json::Optional("limit", &ReadArguments::limit, "Number of lines").Min(1).Max(10'000));
//     }
//   };
//
// An enum has a function NamesOf(E) that returns a list of pairs of value and name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace polybox::json {

/// Conditions that a member must fulfil in addition to its type. Lengths are in characters, not
/// bytes.
struct Rules {
  bool required = false;
  std::optional<std::int64_t> min = {};
  std::optional<std::int64_t> max = {};
  std::optional<std::size_t> min_length = {};
  std::optional<std::size_t> max_length = {};
  std::optional<std::size_t> max_items = {};
};

/// One member of a struct: its JSON name, its place, its description for the schema, and its rules.
/// The functions return a copy with one more rule.
template <typename Struct, typename T>
struct Member {
  using Type = T;

  std::string_view name;
  T Struct::* place;
  std::string_view doc;
  Rules rules;

  /// Bounds of a number, or of each number of a list.
  constexpr Member Min(std::int64_t value) const {
    Member member = *this;
    member.rules.min = value;
    return member;
  }
  constexpr Member Max(std::int64_t value) const {
    Member member = *this;
    member.rules.max = value;
    return member;
  }
  /// Bounds of a string, or of each string of a list.
  constexpr Member NotEmpty() const {
    Member member = *this;
    member.rules.min_length = 1;
    return member;
  }
  constexpr Member MaxLength(std::size_t value) const {
    Member member = *this;
    member.rules.max_length = value;
    return member;
  }
  constexpr Member MaxItems(std::size_t value) const {
    Member member = *this;
    member.rules.max_items = value;
    return member;
  }
};

/// Describes a member that must be present.
template <typename Struct, typename T>
constexpr Member<Struct, T> Required(std::string_view name, T Struct::* place,
                                     std::string_view doc = "") {
  return {name, place, doc, {.required = true}};
}

/// Describes a member that may be absent. The struct's initial value remains then.
template <typename Struct, typename T>
constexpr Member<Struct, T> Optional(std::string_view name, T Struct::* place,
                                     std::string_view doc = "") {
  return {name, place, doc, {}};
}

}  // namespace polybox::json

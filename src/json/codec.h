// One Codec for each kind of type. Decode() reads a value into `out` and adds problems to the
// reading, Encode() writes a value, Schema() describes the type. Only json/bind.h includes this
// file. To support a new kind of type, add a specialisation at the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "json/checks.h"
#include "json/member.h"
#include "json/reading.h"
#include "json/value.h"
#include "json/write.h"

namespace polybox::json {

/// A struct with a function Members().
template <typename T>
concept Described = requires { T::Members(); };

/// An enum with a function NamesOf().
template <typename T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) { NamesOf(value); };

/// The codec of a type; a type without a specialisation cannot be converted.
template <typename T>
struct Codec;

/// A raw value is taken as it is, without any check.
template <>
struct Codec<Value> {
  static void Decode(const Value& value, const Rules& /*rules*/, Reading& /*reading*/, Value& out) {
    out = value;
  }
  static Value Encode(const Value& value) { return value; }
  static Object Schema(const Rules& /*rules*/) { return {}; }
};

template <>
struct Codec<bool> {
  static void Decode(const Value& value, const Rules& /*rules*/, Reading& reading, bool& out) {
    if (const bool* found = value.if_bool()) {
      out = *found;
    } else {
      MustBe("a boolean", value, reading);
    }
  }
  static Value Encode(bool value) { return value; }
  static Object Schema(const Rules& /*rules*/) { return {{"type", "boolean"}}; }
};

template <typename T>
  requires std::integral<T>
struct Codec<T> {
  static void Decode(const Value& value, const Rules& rules, Reading& reading, T& out) {
    const std::optional<std::int64_t> number = WholeNumber(value, Within(rules), reading);
    if (number) out = static_cast<T>(*number);
  }
  static Value Encode(T value) { return static_cast<std::int64_t>(value); }
  static Object Schema(const Rules& rules) { return NumberSchema("integer", Narrow(rules)); }

 private:
  static_assert(sizeof(T) < sizeof(std::int64_t) || std::is_signed_v<T>,
                "a number over 2^63 does not survive other JSON readers");
  static constexpr std::int64_t kLeast = std::numeric_limits<T>::min();
  static constexpr std::int64_t kMost = std::numeric_limits<T>::max();

  /// Returns the rules, with the range of the type where they set none.
  static Rules Within(Rules rules) {
    rules.min = std::max(rules.min.value_or(kLeast), kLeast);
    rules.max = std::min(rules.max.value_or(kMost), kMost);
    return rules;
  }
  /// Returns the rules for the schema. It omits the range of a 64-bit number, which tells a reader
  /// nothing.
  static Rules Narrow(const Rules& rules) {
    return sizeof(T) < sizeof(std::int64_t) ? Within(rules) : rules;
  }
};

template <>
struct Codec<double> {
  static void Decode(const Value& value, const Rules& rules, Reading& reading, double& out) {
    if (const std::optional<double> number = Number(value, rules, reading)) out = *number;
  }
  static Value Encode(double value) { return value; }
  static Object Schema(const Rules& rules) { return NumberSchema("number", rules); }
};

template <>
struct Codec<std::string> {
  static void Decode(const Value& value, const Rules& rules, Reading& reading, std::string& out) {
    if (const auto* found = value.if_string()) {
      out.assign(found->data(), found->size());
      CheckLength(out, rules, reading);
    } else {
      MustBe("a string", value, reading);
    }
  }
  static Value Encode(const std::string& value) { return Text(value); }
  static Object Schema(const Rules& rules) { return StringSchema(rules); }
};

template <NamedEnum T>
struct Codec<T> {
  static void Decode(const Value& value, const Rules& /*rules*/, Reading& reading, T& out) {
    std::vector<std::string_view> names;
    for (const auto& [each, name] : NamesOf(T{})) {
      if (value.is_string() && value.get_string() == name) {
        out = each;
        return;
      }
      names.push_back(name);
    }
    MustBeOneOf(names, value, reading);
  }
  static Value Encode(T value) {
    for (const auto& [each, name] : NamesOf(T{})) {
      if (each == value) return Value(name);
    }
    return nullptr;
  }
  static Object Schema(const Rules& /*rules*/) {
    Array names;
    for (const auto& [each, name] : NamesOf(T{})) names.emplace_back(name);
    return {{"type", "string"}, {"enum", std::move(names)}};
  }
};

/// A member that is absent or null becomes the empty optional.
template <typename T>
struct Codec<std::optional<T>> {
  static void Decode(const Value& value, const Rules& rules, Reading& reading,
                     std::optional<T>& out) {
    out.reset();
    if (!value.is_null()) Codec<T>::Decode(value, rules, reading, out.emplace());
  }
  static Value Encode(const std::optional<T>& value) {
    return value ? Codec<T>::Encode(*value) : Value(nullptr);
  }
  static Object Schema(const Rules& rules) { return Codec<T>::Schema(rules); }
};

template <typename T>
struct Codec<std::vector<T>> {
  static void Decode(const Value& value, const Rules& rules, Reading& reading,
                     std::vector<T>& out) {
    const Array* items = value.if_array();
    if (items == nullptr) return MustBe("an array", value, reading);
    if (!CheckItems(items->size(), rules, reading)) return;
    out.clear();
    out.reserve(items->size());
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Reading::Step step(reading, i);
      // Not out.emplace_back(): a vector of bool has no references to its items.
      T item{};
      Codec<T>::Decode((*items)[i], rules, reading, item);
      out.push_back(std::move(item));
    }
  }
  static Value Encode(const std::vector<T>& value) {
    Array items;
    for (const auto& item : value) items.push_back(Codec<T>::Encode(item));
    return items;
  }
  static Object Schema(const Rules& rules) {
    Object schema = {{"type", "array"}, {"items", Codec<T>::Schema(rules)}};
    if (rules.max_items) schema["maxItems"] = *rules.max_items;
    return schema;
  }
};

template <typename T>
struct Codec<std::map<std::string, T>> {
  using Map = std::map<std::string, T>;
  static void Decode(const Value& value, const Rules& rules, Reading& reading, Map& out) {
    const Object* members = value.if_object();
    if (members == nullptr) return MustBe("an object", value, reading);
    if (!CheckItems(members->size(), rules, reading)) return;
    out.clear();
    for (const auto& [name, member] : *members) {
      const Reading::Step step(reading, std::string_view(name));
      Codec<T>::Decode(member, rules, reading, out[std::string(name)]);
    }
  }
  static Value Encode(const Map& value) {
    Object members;
    for (const auto& [name, member] : value) members[name] = Codec<T>::Encode(member);
    return members;
  }
  static Object Schema(const Rules& rules) {
    return {{"type", "object"}, {"additionalProperties", Codec<T>::Schema(rules)}};
  }
};

/// A struct becomes an object. Decode() leaves the initial value of a member that is absent.
template <Described T>
struct Codec<T> {
  static void Decode(const Value& value, const Rules& /*rules*/, Reading& reading, T& out) {
    const Object* object = value.if_object();
    if (object == nullptr) return MustBe("an object", value, reading);
    std::vector<std::string_view> names;
    ForEachMember([&](const auto& member) {
      names.push_back(member.name);
      DecodeMember(*object, member, reading, out);
    });
    if (reading.unknown() == UnknownMembers::kRefuse) CheckNames(*object, names, reading);
  }

  static Value Encode(const T& value) {
    Object object;
    ForEachMember([&](const auto& member) {
      Value encoded = CodecOf<decltype(member)>::Encode(value.*member.place);
      const bool is_empty = IsOptional<decltype(member)>() && encoded.is_null();
      if (!is_empty) object[member.name] = std::move(encoded);
    });
    return object;
  }

  static Object Schema(const Rules& /*rules*/) {
    Object properties;
    Array required;
    const T defaults{};
    ForEachMember([&](const auto& member) {
      Object schema = CodecOf<decltype(member)>::Schema(member.rules);
      if (!member.doc.empty()) schema["description"] = member.doc;
      if (member.rules.required) {
        required.emplace_back(member.name);
      } else if (!IsOptional<decltype(member)>()) {
        schema["default"] = CodecOf<decltype(member)>::Encode(defaults.*member.place);
      }
      properties[member.name] = std::move(schema);
    });
    Object schema = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    schema["additionalProperties"] = false;
    return schema;
  }

 private:
  template <typename Row>
  using TypeOf = std::remove_cvref_t<Row>::Type;
  template <typename Row>
  using CodecOf = Codec<TypeOf<Row>>;
  /// Returns whether the member's type is a std::optional.
  template <typename Row>
  static constexpr bool IsOptional() {
    return requires(TypeOf<Row> value) { value.has_value(); };
  }

  /// Calls `visit` with each row of Members(), in their order.
  template <typename Visit>
  static void ForEachMember(const Visit& visit) {
    std::apply([&](const auto&... member) { (visit(member), ...); }, T::Members());
  }

  template <typename Row>
  static void DecodeMember(const Object& object, const Row& member, Reading& reading, T& out) {
    const Value* found = object.if_contains(member.name);
    const Reading::Step step(reading, member.name);
    if (found != nullptr) {
      CodecOf<Row>::Decode(*found, member.rules, reading, out.*member.place);
    } else if (member.rules.required) {
      reading.Complain("is missing");
    }
  }
};

}  // namespace polybox::json

// Our reading of JSON beside another one's.
#pragma once

#include <string_view>
#include <variant>

#include <boost/json.hpp>

#include "fuzz/fuzz.h"
#include "http/doors/go_json/reader.h"
#include "http/doors/go_json/scan.h"

namespace polybox::fuzz {

/// Go takes one half of a pair for U+FFFD.
inline bool HasSurrogate(std::string_view text) {
  return text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos;
}

/// What is strictly JSON is found by us; what we find is JSON, but for what Go takes and Boost.JSON
/// does not.
inline void CheckAgainstBoost(std::string_view text) {
  namespace json = boost::json;
  const auto ours = http::FirstJsonValue(text);
  const auto* found = std::get_if<std::string_view>(&ours);
  boost::system::error_code error;
  const json::value strict = json::parse({text.data(), text.size()}, error);
  if (!error) Check(found != nullptr, "strict JSON is found", text);
  if (found == nullptr) return;
  Check(found->data() >= text.data() && found->data() + found->size() <= text.data() + text.size(),
        "the value lies in the text");
  json::parse_options lenient;
  lenient.allow_invalid_utf8 = true;
  json::parse({found->data(), found->size()}, error, {}, lenient);
  const bool taken = error == json::error::too_deep || error == json::error::exponent_overflow ||
                     HasSurrogate(*found);
  Check(!error || taken, "what is found is JSON: " + error.message(), *found);
}

/// The text that strict JSON has under `key`; null when it is not strict, has none, or two of them.
inline const boost::json::string* StrictMember(const boost::json::value& value,
                                               std::string_view key) {
  const boost::json::object* object = value.if_object();
  if (object == nullptr) return nullptr;
  const boost::json::string* member = nullptr;
  for (const auto& [name, content] : *object) {
    if (!http::KeyIs({name.data(), name.size()}, key)) continue;
    if (member != nullptr || !content.is_string()) return nullptr;
    member = &content.get_string();
  }
  return member;
}

}  // namespace polybox::fuzz

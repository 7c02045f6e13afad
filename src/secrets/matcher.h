// Finds secrets in a text: values that are known, in every form in which programs write them; what
// looks like a token; and what patterns of the operator describe. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "secrets/encoded_forms.h"
#include "secrets/literal_index.h"
#include "secrets/shape.h"
#include "secrets/text_scan.h"

namespace re2 {
class RE2;
}

namespace polybox::secrets {

/// A secret that is known. Values shorter than kShortestValue are not looked for.
struct KnownValue {
  std::string name;
  std::string value;

  bool operator==(const KnownValue&) const = default;
};

/// A pattern of the operator. The first group is the secret, or the whole match without a group.
struct Pattern {
  std::string name;
  std::shared_ptr<const re2::RE2> expression;
};

/// Reads "NAME=REGULAR EXPRESSION" (RE2). The name is a word of letters, digits, "_", "-" and ".".
Result<Pattern> ParsePattern(const std::string& text);

struct Hit {
  /// Of hits that overlap, the surest gives the label.
  enum class Sureness { kKnown, kToken, kContext };

  Span span;
  /// What stands in the answer in place of the secret.
  std::string_view label;
  Sureness sureness = Sureness::kKnown;
};

class Matcher {
 public:
  Matcher(std::vector<KnownValue> values, std::vector<Shape> shapes, std::vector<Pattern> patterns);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Returns the secrets in `text`, by ascending position and without overlaps. The labels are
  /// valid as long as the matcher.
  std::vector<Hit> Find(std::string_view text) const;

 private:
  /// A form of a known value.
  struct Sought {
    Form form;
    std::size_t value = 0;
  };
  /// What an entry of the index stands for.
  struct Owner {
    enum class Kind { kBegin, kEnd, kShape } kind;
    std::size_t number;
  };

  void AddValue(std::string_view value, std::size_t number);
  void Add(const std::string& literal, LiteralIndex::Case letters, Owner owner);
  void FindAtEnds(std::string_view text, std::vector<Hit>& hits) const;
  void FindPatterns(std::string_view text, std::vector<Hit>& hits) const;

  std::vector<KnownValue> values_;
  std::vector<Shape> shapes_;
  std::vector<Pattern> patterns_;
  std::vector<Sought> sought_;
  std::vector<Owner> owners_;
  LiteralIndex index_;
};

}  // namespace polybox::secrets

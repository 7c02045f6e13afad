// What tokens look like: the rows of policies/secret-shapes.toml. Immutable once parsed; any
// thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"

namespace polybox::secrets {

/// Returns policies/secret-shapes.toml, which is compiled in.
std::span<const EmbeddedFile> ShapeFiles();

/// A set of bytes.
class Characters {
 public:
  Characters() = default;
  /// Reads "A-Za-z0-9_-": ranges and single characters. A "-" at the end is itself.
  explicit Characters(std::string_view ranges);
  bool Has(char c) const { return has_[static_cast<unsigned char>(c)]; }
  /// Returns the number of bytes at the start of `text` that are in the set, at most `most`.
  std::size_t Span(std::string_view text, std::size_t most) const;

 private:
  std::array<bool, 256> has_{};
};

/// How the bytes after a start are read.
enum class ShapeForm {
  kToken,       ///< Characters of a set, up to the first other one.
  kJwt,         ///< Three parts in base64 with dots between; the first is a JSON object.
  kKeyBlock,    ///< The lines between BEGIN and END of a private key.
  kAssignment,  ///< NAME=value, "name": "value" and the like; the start is in the name.
  kHeader,      ///< The credentials of an HTTP header; the start is the name of the scheme.
  kUrl,         ///< The password in scheme://user:password@host.
};

struct Shape {
  /// Stands in the answer in place of the value: [REDACTED:name].
  std::string name;
  ShapeForm form = ShapeForm::kToken;
  /// Texts of at least three bytes, with one of which an occurrence starts.
  std::vector<std::string> starts;
  /// The characters of the value, and the least and greatest number of them.
  Characters characters;
  std::size_t shortest = 0;
  std::size_t longest = 0;
  /// What a value must contain at least one of each, so that words and identifiers are none.
  bool needs_digit = false;
  bool needs_upper = false;
  bool needs_lower = false;
  /// The least entropy of the value's characters, in bits.
  double entropy = 0;
};

/// Reads a list of shapes. `origin` names the file in errors.
Result<std::vector<Shape>> ParseShapes(std::string_view toml, const std::string& origin);
/// Returns the built-in list.
Result<std::vector<Shape>> BuiltinShapes();

}  // namespace polybox::secrets

// The tokens that clients must send. Tokens are never logged: logs name a client by the line number
// of its token. Immutable, so any thread may use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/exchange.h"

namespace polybox::http {

class Tokens {
 public:
  /// No tokens: clients need none.
  Tokens() = default;
  /// Reads one token per line. Skips empty lines and lines that start with #. A file without a
  /// token, or with a token too short to be a secret, is an error.
  static Result<Tokens> Parse(std::string_view text);
  static Result<Tokens> Load(const std::string& file);

  bool empty() const { return tokens_.empty(); }
  /// Returns the client's label ("token-2" for the token in line 2), or "" when the request has no
  /// valid token. Takes the same time for every wrong token of a given length, so the time reveals
  /// nothing about the secret.
  std::string LabelOf(const Request& request) const;

 private:
  struct Token {
    std::string text;
    std::size_t line;
  };
  std::vector<Token> tokens_;
};

}  // namespace polybox::http

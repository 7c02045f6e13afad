// The tokens that clients must bring. Never logged: a client is called by the line of its token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/exchange.h"

namespace polybox::http {

class Tokens {
 public:
  /// None: nobody has to bring one.
  Tokens() = default;
  /// One token per line; empty lines and those that start with # are skipped. A file without a
  /// token, or with one that is too short to be a secret, is an error.
  static Result<Tokens> Parse(std::string_view text);
  static Result<Tokens> Load(const std::string& file);

  bool empty() const { return tokens_.empty(); }
  /// What to call the client whose token the request brings ("token-2" for that of line 2); "" when
  /// it brings none that is right. Takes the same time for every wrong token of a length.
  std::string LabelOf(const Request& request) const;

 private:
  struct Token {
    std::string text;
    std::size_t line;
  };
  std::vector<Token> tokens_;
};

}  // namespace polybox::http

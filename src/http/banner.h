// What the server says when it has started: where it listens, what it runs, and what to try.
#pragma once

#include <string>
#include <vector>

namespace polybox::http {

struct BannerFacts {
  std::string version;
  /// "127.0.0.1:8080"; the first is used for the examples.
  std::vector<std::string> addresses;
  std::string mode;
  std::vector<std::string> languages;
  /// "full".
  std::string isolation;
  /// "" when clients need no token.
  std::string token_file;
  /// Other machines may run programs here, without a token.
  bool open_to_all = false;
  /// A program of the mode's language, its id, and the name of its file; "" for none.
  std::string example;
  std::string example_language;
  std::string example_file;
};

/// Several lines; the curl lines work as they stand when pasted into a shell.
std::string Banner(const BannerFacts& facts);

/// For clients on this machine: "0.0.0.0:80" is "http://127.0.0.1:80".
std::string LocalUrl(const std::string& address);

}  // namespace polybox::http

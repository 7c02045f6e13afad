// The text that the server prints after its start: its addresses, its languages, and commands to
// try.
#pragma once

#include <string>
#include <vector>

namespace polybox::http {

struct BannerFacts {
  std::string version;
  /// Each as "127.0.0.1:8080". The first appears in the examples.
  std::vector<std::string> addresses;
  std::string mode;
  std::vector<std::string> languages;
  /// The name of the isolation grade, such as "full".
  std::string isolation;
  /// "" when clients need no token.
  std::string token_file;
  /// True if other machines may run programs on this server without a token.
  bool open_to_all = false;
  /// A program of the mode's language, the id of the language, and a file name for the program; ""
  /// for none.
  std::string example;
  std::string example_language;
  std::string example_file;
};

/// Returns several lines. The curl commands in them can be pasted into a shell unchanged.
std::string Banner(const BannerFacts& facts);

/// Returns the URL for clients on this machine: "http://127.0.0.1:80" for "0.0.0.0:80".
std::string LocalUrl(const std::string& address);

}  // namespace polybox::http

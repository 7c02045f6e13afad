// Collects the members of a request that its dialect does not know. By contract unknown members
// have no effect, but a misspelt member must not be ignored silently.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::http {

class UnknownMembers {
 public:
  /// Adds an unknown member. `where` is "" or the object that has the member, such as "files[0]".
  /// `known` are the members that the client may have meant.
  void Add(std::string_view where, std::string_view key,
           const std::vector<std::string_view>& known);

  /// Returns `unknown member "langauge"; did you mean "language"?` for each member up to a limit,
  /// then how many more there were. Names are shortened and escaped.
  std::vector<std::string> Warnings() const;

 private:
  std::vector<std::string> warnings_;
  std::size_t more_ = 0;
};

}  // namespace polybox::http

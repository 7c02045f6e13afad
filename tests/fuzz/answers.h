// Reads what a connection wrote, answer by answer, and insists on every byte.
#pragma once

#include <string>
#include <string_view>

namespace polybox::fuzz {

/// A request as the server saw it.
struct Asked {
  std::string method;
  std::string path;
  int status = 0;
};

class Answers {
 public:
  explicit Answers(std::string_view text) : rest_(text) {}

  /// Takes the answer to `asked`, which must be next.
  void Take(const Asked& asked);
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view TakeHead();
  std::string TakeChunks();
  std::string_view TakeBytes(std::size_t count);
  std::string_view TakeLine();

  std::string_view rest_;
};

}  // namespace polybox::fuzz

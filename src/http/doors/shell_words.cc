#include "http/doors/shell_words.h"

namespace polybox::http {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> Split() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (IsBlank(c)) {
        EndWord();
      } else if (c == '\'' || c == '"') {
        POLYBOX_RETURN_IF_ERROR(Quoted(c));
      } else if (c == '\\') {
        if (at_ == text_.size()) return NoEscaped();
        Append(text_[at_++]);
      } else {
        Append(c);
      }
    }
    EndWord();
    return std::move(words_);
  }

 private:
  static Error NoEscaped() { return {ErrorKind::kInvalid, "No escaped character"}; }

  Status Quoted(char quote) {
    in_word_ = true;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return {};
      if (c != '\\' || quote != '"') {
        word_ += c;
        continue;
      }
      if (at_ == text_.size()) return NoEscaped();
      // Between double quotes a backslash escapes only itself and the quote.
      if (text_[at_] != '"' && text_[at_] != '\\') word_ += c;
      word_ += text_[at_++];
    }
    return Error(ErrorKind::kInvalid, "No closing quotation");
  }

  void Append(char c) {
    word_ += c;
    in_word_ = true;
  }

  void EndWord() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> SplitShellWords(std::string_view text) {
  return Splitter(text).Split();
}

}  // namespace polybox::http

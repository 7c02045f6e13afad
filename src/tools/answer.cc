#include "tools/answer.h"

namespace polybox::tools {

ToolAnswer ErrorAnswer(const Error& error) {
  std::string text = error.message();
  if (!error.fix().empty()) text += "\n" + error.fix();
  return {.content = {TextBlock{std::move(text)}}, .is_error = true};
}

}  // namespace polybox::tools

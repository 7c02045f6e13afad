#include "languages/language.h"

#include <utility>

namespace polybox::languages {

std::vector<std::string_view> Capabilities(const Language& language) {
  const Verify none;
  const Verify& verify = language.verify ? *language.verify : none;
  const std::pair<std::string_view, bool> all[] = {
      {"run", true},
      {"compile", language.compile.has_value()},
      {"packages", language.packages && !language.packages->requirement_form.empty()},
      {"preinstalled", language.packages && !language.packages->preinstalled.empty()},
      {"warm", language.warm.kind != WarmKind::kExec},
      {"test", verify.test.has_value()},
      {"lint", verify.lint.has_value()},
      {"typecheck", verify.typecheck.has_value()},
      {"format", verify.format.has_value()},
      {"coverage", verify.coverage.has_value()},
      {"lsp", !language.lsp.empty()},
      {"ast", language.grammar.has_value()},
  };
  std::vector<std::string_view> words;
  for (const auto& [word, supported] : all) {
    if (supported) words.push_back(word);
  }
  return words;
}

}  // namespace polybox::languages

#include "languages/language.h"

#include <span>
#include <utility>

namespace polybox::languages {
namespace {

using Row = std::pair<std::string_view, bool>;

std::vector<std::string_view> WordsOf(std::span<const Row> rows) {
  std::vector<std::string_view> words;
  for (const auto& [word, holds] : rows) {
    if (holds) words.push_back(word);
  }
  return words;
}

}  // namespace

std::vector<std::string_view> Capabilities(const Language& language) {
  const Row rows[] = {
      {"run", true},
      {"compile", language.compile.has_value()},
      {"packages", language.packages && !language.packages->requirement_form.empty()},
      {"preinstalled", language.packages && !language.packages->preinstalled.empty()},
      {"fallback", language.fallback.has_value()},
      {"warm", language.warm.kind != WarmKind::kExec},
  };
  return WordsOf(rows);
}

std::vector<std::string_view> Described(const Language& language) {
  const Verify none;
  const Verify& verify = language.verify ? *language.verify : none;
  const Row rows[] = {
      {"test", verify.test.has_value()},           {"lint", verify.lint.has_value()},
      {"typecheck", verify.typecheck.has_value()}, {"format", verify.format.has_value()},
      {"coverage", verify.coverage.has_value()},   {"lsp", !language.lsp.empty()},
      {"ast", language.grammar.has_value()},
  };
  return WordsOf(rows);
}

}  // namespace polybox::languages

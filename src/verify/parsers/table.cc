#include <array>

#include "verify/parsers/all.h"

namespace polybox::verify {
namespace {

using enum ParserKind;
using enum Ends;

// Sorted by name.
constexpr auto kParsers = std::to_array<Parser>({
    {"biome-json", kFindings, kMarked, ParseBiomeJson},
    {"cargo-json", kFindings, kMarked, ParseCargoJson},
    {"cargo-test", kTests, kMarked, ParseCargoTest},
    {"checkstyle-xml", kFindings, kMarked, ParseCheckstyleXml},
    {"clover-xml", kCoverage, kMarked, ParseCloverXml},
    {"cobertura-xml", kCoverage, kMarked, ParseCoberturaXml},
    {"coverage-py-json", kCoverage, kMarked, ParseCoveragePyJson},
    {"eslint-json", kFindings, kMarked, ParseEslintJson},
    {"exit-status", kFindings, kLines, ParseExitStatus},
    {"file-line-col", kFindings, kLines, ParseFileLineCol},
    {"gcovr-json", kCoverage, kMarked, ParseGcovrJson},
    {"gnu", kFindings, kLines, ParseGnu},
    {"go-cover", kCoverage, kLines, ParseGoCover},
    {"go-test-json", kTests, kRecords, ParseGoTestJson},
    {"go-vet-json", kFindings, kRecords, ParseGoVetJson},
    {"gofmt-diff", kFormat, kRecords, ParseGofmtDiff},
    {"golangci-json", kFindings, kMarked, ParseGolangciJson},
    {"istanbul-json", kCoverage, kMarked, ParseIstanbulJson},
    {"jacoco-xml", kCoverage, kMarked, ParseJacocoXml},
    {"jest-json", kTests, kMarked, ParseJestJson},
    {"junit-xml", kTests, kMarked, ParseJunitXml},
    {"lcov", kCoverage, kRecords, ParseLcov},
    {"luacheck", kFindings, kLines, ParseLuacheck},
    {"mocha-json", kTests, kMarked, ParseMochaJson},
    {"mypy-json", kFindings, kMarked, ParseMypyJson},
    {"nextest-json", kTests, kRecords, ParseNextestJson},
    {"node-test-junit", kTests, kMarked, ParseNodeTestJunit},
    {"perlcritic", kFindings, kLines, ParsePerlcritic},
    {"phpstan-json", kFindings, kMarked, ParsePhpstanJson},
    {"prettier-list", kFormat, kLines, ParsePrettierList},
    {"pytest-junit", kTests, kMarked, ParsePytestJunit},
    {"regex", kFindings, kLines, ParseRegex},
    {"rspec-json", kTests, kMarked, ParseRspecJson},
    {"rubocop-json", kFindings, kMarked, ParseRubocopJson},
    {"ruff-json", kFindings, kMarked, ParseRuffJson},
    {"sarif", kFindings, kMarked, ParseSarif},
    {"shellcheck-json", kFindings, kMarked, ParseShellcheckJson},
    {"simplecov-json", kCoverage, kMarked, ParseSimplecovJson},
    {"tap", kTests, kMarked, ParseTap},
    {"tsc", kFindings, kLines, ParseTsc},
    {"unified-diff", kFormat, kRecords, ParseUnifiedDiff},
    {"unittest", kTests, kMarked, ParseUnittest},
});

}  // namespace

std::span<const Parser> AllParsers() {
  return kParsers;
}

}  // namespace polybox::verify

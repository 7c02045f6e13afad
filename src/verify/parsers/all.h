// The parsers. Each has a file of its own or is in the file of its kind (coverage_json.cc,
// coverage_xml.cc). parsers/table.cc gives them their names.
#pragma once

#include "verify/parser.h"

namespace polybox::verify {

Report ParseBiomeJson(const ParserInput& input);
Report ParseCargoJson(const ParserInput& input);
Report ParseCargoTest(const ParserInput& input);
Report ParseCheckstyleXml(const ParserInput& input);
Report ParseCloverXml(const ParserInput& input);
Report ParseCoberturaXml(const ParserInput& input);
Report ParseCoveragePyJson(const ParserInput& input);
Report ParseEslintJson(const ParserInput& input);
Report ParseExitStatus(const ParserInput& input);
Report ParseFileLineCol(const ParserInput& input);
Report ParseGcovrJson(const ParserInput& input);
Report ParseGnu(const ParserInput& input);
Report ParseGoCover(const ParserInput& input);
Report ParseGoTestJson(const ParserInput& input);
Report ParseGoVetJson(const ParserInput& input);
Report ParseGofmtDiff(const ParserInput& input);
Report ParseGolangciJson(const ParserInput& input);
Report ParseIstanbulJson(const ParserInput& input);
Report ParseJacocoXml(const ParserInput& input);
Report ParseJestJson(const ParserInput& input);
Report ParseJunitXml(const ParserInput& input);
Report ParseLcov(const ParserInput& input);
Report ParseLuacheck(const ParserInput& input);
Report ParseMochaJson(const ParserInput& input);
Report ParseMypyJson(const ParserInput& input);
Report ParseNextestJson(const ParserInput& input);
Report ParseNodeTestJunit(const ParserInput& input);
Report ParsePerlcritic(const ParserInput& input);
Report ParsePhpstanJson(const ParserInput& input);
Report ParsePrettierList(const ParserInput& input);
Report ParsePytestJunit(const ParserInput& input);
Report ParseRegex(const ParserInput& input);
Report ParseRspecJson(const ParserInput& input);
Report ParseRubocopJson(const ParserInput& input);
Report ParseRuffJson(const ParserInput& input);
Report ParseSarif(const ParserInput& input);
Report ParseShellcheckJson(const ParserInput& input);
Report ParseSimplecovJson(const ParserInput& input);
Report ParseTap(const ParserInput& input);
Report ParseTsc(const ParserInput& input);
Report ParseUnifiedDiff(const ParserInput& input);
Report ParseUnittest(const ParserInput& input);

}  // namespace polybox::verify

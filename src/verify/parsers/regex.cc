// The parser `regex`: the patterns come from the language file (languages/patterns.h), so that an
// operator can add a tool without compiling. RE2 compares in linear time.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "what the patterns describe";

/// The groups of a line that matched.
class Match {
 public:
  Match(const RE2& pattern, std::vector<re2::StringPiece> groups)
      : pattern_(&pattern), groups_(std::move(groups)) {}

  /// Returns "" if the pattern does not have the group.
  std::string_view Group(const std::string& name) const {
    const auto& names = pattern_->NamedCapturingGroups();
    const auto found = names.find(name);
    if (found == names.end()) return {};
    const re2::StringPiece& group = groups_[static_cast<std::size_t>(found->second)];
    return {group.data(), group.size()};
  }
  bool Has(const std::string& name) const {
    return pattern_->NamedCapturingGroups().contains(name);
  }
  std::int64_t Count(const std::string& name) const { return NumberOr0(Group(name)); }

 private:
  const RE2* pattern_;
  std::vector<re2::StringPiece> groups_;
};

/// The expressions of one list.
class PatternList {
 public:
  explicit PatternList(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      patterns_.push_back(std::make_unique<RE2>(text, RE2::Quiet));
    }
  }

  std::optional<Match> Find(std::string_view line) const {
    for (const auto& pattern : patterns_) {
      if (!pattern->ok()) continue;  // refused when the language file was loaded
      std::vector<re2::StringPiece> groups(
          static_cast<std::size_t>(pattern->NumberOfCapturingGroups()) + 1);
      const re2::StringPiece piece(line.data(), line.size());
      if (pattern->Match(piece, 0, line.size(), RE2::ANCHOR_BOTH, groups.data(),
                         static_cast<int>(groups.size()))) {
        return Match(*pattern, std::move(groups));
      }
    }
    return std::nullopt;
  }
  bool empty() const { return patterns_.empty(); }

 private:
  std::vector<std::unique_ptr<RE2>> patterns_;
};

class Lines {
 public:
  explicit Lines(const ParserInput& input)
      : patterns_(*input.patterns), root_(input.root), findings_(root_), tests_(root_, "::") {}

  Status Read(std::string_view text) {
    if (!EndsInLine(text)) return NotThis(kWhat, "the output ends within a line");
    std::string_view line;
    while (TakeLine(text, line)) POLYBOX_RETURN_IF_ERROR(Take(line));
    return {};
  }
  Result<Report> Finish();

 private:
  Status Take(std::string_view line);
  void AddFinding(const Match& match);
  void AddFailure(const Match& match, std::string_view line);
  Severity SeverityIn(std::string_view word) const;
  /// Compares the numbers of the last line with what was counted.
  Status TakeSummary(const Match& match);

  const languages::Patterns& patterns_;
  std::string_view root_;
  PatternList finding_{patterns_.finding};
  PatternList failed_{patterns_.failed};
  PatternList passed_{patterns_.passed};
  PatternList skipped_{patterns_.skipped};
  PatternList complete_{patterns_.complete};
  PatternList ignore_{patterns_.ignore};
  FindingCollector findings_;
  TestCollector tests_;
  bool is_complete_ = false;
};

Severity Lines::SeverityIn(std::string_view word) const {
  if (std::ranges::count(patterns_.warnings, word) != 0) return Severity::kWarning;
  return std::ranges::count(patterns_.notes, word) != 0 ? Severity::kNote : Severity::kError;
}

void Lines::AddFinding(const Match& match) {
  findings_.Add({.file = match.Group("file"),
                 .range = {match.Count("line"), match.Count("column"), match.Count("end_line"),
                           match.Count("end_column")},
                 .severity = SeverityIn(match.Group("severity")),
                 .rule = match.Group("rule"),
                 .message = match.Group("message"),
                 .fix = match.Group("fix")});
}

void Lines::AddFailure(const Match& match, std::string_view line) {
  const std::string_view message = match.Group("message");
  tests_.Failed({.suite = match.Group("suite"),
                 .name = match.Group("name"),
                 .file = match.Group("file"),
                 .line = match.Count("line"),
                 .message = message.empty() ? line : message});
}

Status Lines::TakeSummary(const Match& match) {
  is_complete_ = true;
  const TestReport& report = tests_.report();
  const auto differs = [&](const char* group, std::int64_t count) {
    return match.Has(group) && match.Count(group) != count;
  };
  if (differs("findings", findings_.count()) || differs("passed", report.passed) ||
      differs("failed", report.failed) || differs("skipped", report.skipped)) {
    return NotThis(kWhat, "the last line counts other results than the lines before it");
  }
  return {};
}

Status Lines::Take(std::string_view line) {
  if (Trim(line).empty()) return {};
  if (const auto match = finding_.Find(line)) {
    AddFinding(*match);
  } else if (const auto failed = failed_.Find(line)) {
    AddFailure(*failed, line);
  } else if (const auto passed = passed_.Find(line)) {
    tests_.Passed(passed->Group("suite"), passed->Group("name"));
  } else if (skipped_.Find(line)) {
    tests_.Skipped();
  } else if (const auto complete = complete_.Find(line)) {
    return TakeSummary(*complete);
  } else if (!patterns_.unknown_lines && !ignore_.Find(line)) {
    return NotThis(kWhat, fmt::format("no pattern matches the line \"{}\"", Kept(line, 200)));
  }
  return {};
}

Result<Report> Lines::Finish() {
  if (!complete_.empty() && !is_complete_) {
    return NotThis(kWhat, "the line that ends the output is missing");
  }
  if (finding_.empty()) return Report(tests_.Take());
  return Report(findings_.Take());
}

}  // namespace

Report ParseRegex(const ParserInput& input) {
  if (input.patterns == nullptr) return Unreadable{"the language file has no patterns"};
  Lines lines(input);
  Status read = lines.Read(input.report.empty() ? input.out : input.report);
  if (read.ok() && input.report.empty()) read = lines.Read(input.err);
  if (!read.ok()) return Unreadable{read.error().message()};
  return ToReport(lines.Finish());
}

}  // namespace polybox::verify

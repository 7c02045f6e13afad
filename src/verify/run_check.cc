#include "verify/run_check.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/printable.h"
#include "base/split.h"
#include "verify/command_text.h"

namespace polybox::verify {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kProgressPause{3};
/// Looking for programs and reading a file take milliseconds, but the machine may be busy.
constexpr std::chrono::seconds kShortCommand{60};
/// What an answer shows of the end of an output that nobody could read.
constexpr std::size_t kLogBytes = 4000;

std::string NewRunName() {
  std::array<unsigned char, 8> bytes{};
  // Never fails for so few bytes once the system has started.
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  std::string name;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

/// A command that has ended, with its output.
struct Ended {
  std::shared_ptr<shells::Shell> shell;
  jail::Outcome outcome;
};

class Runner {
 public:
  Runner(const Ground& ground, const Project& project) : ground_(ground), project_(project) {}

  /// Runs a text with bash to its end. The handle of the output stays.
  Result<Ended> Run(const std::string& text, Duration timeout) const;
  /// Runs a short text and forgets its output. Returns what the text wrote, or nothing if it
  /// failed.
  Result<std::optional<shells::MappedOutput>> Ask(const std::string& text) const;

 private:
  /// Waits for the end. Ends the command when the caller gives up.
  Result<jail::Outcome> Await(shells::Shell& shell) const;

  const Ground& ground_;
  const Project& project_;
};

Result<jail::Outcome> Runner::Await(shells::Shell& shell) const {
  const auto begin = steady_clock::now();
  auto report = begin + kProgressPause;
  while (true) {
    if (std::optional<jail::Outcome> outcome = shell.Wait(kLook)) return *std::move(outcome);
    if (ground_.stop.stop_requested()) {
      (void)shell.End();
      return Error(ErrorKind::kUnavailable, "cancelled");
    }
    if (!ground_.progress || steady_clock::now() < report) continue;
    report += kProgressPause;
    std::uint64_t lines = 0;
    for (const shells::Stream& stream : shell.streams()) lines += stream.log->extent().line_feeds;
    ground_.progress({.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count(),
                      .lines = static_cast<std::int64_t>(lines)});
  }
}

Result<Ended> Runner::Run(const std::string& text, Duration timeout) const {
  POLYBOX_ASSIGN_OR_RETURN(std::shared_ptr<shells::Shell> shell,
                           ground_.shells.Start(ground_.machine,
                                                {.owner = ground_.owner,
                                                 .command = text,
                                                 .directory = project_.directory(),
                                                 .timeout = timeout,
                                                 .streams = shells::Streams::kSeparate},
                                                shells::Place::kForeground));
  Result<jail::Outcome> outcome = Await(*shell);
  if (!outcome.ok()) {
    ground_.shells.Forget(shell);
    return std::move(outcome).error();
  }
  if (outcome->end == jail::End::kSetupFailed) {
    ground_.shells.Forget(shell);
    return Error(ErrorKind::kSystem, outcome->setup_failure);
  }
  // What the command left behind must neither change the project nor write on.
  (void)shell->End();
  return Ended{std::move(shell), std::move(outcome).value()};
}

Result<std::optional<shells::MappedOutput>> Runner::Ask(const std::string& text) const {
  POLYBOX_ASSIGN_OR_RETURN(const Ended ended, Run(text, kShortCommand));
  ground_.shells.Forget(ended.shell);
  if (shells::ExitCodeOf(ended.outcome) != 0) return std::optional<shells::MappedOutput>();
  POLYBOX_ASSIGN_OR_RETURN(shells::MappedOutput output, ended.shell->FindStream("stdout")->Map());
  return std::optional(std::move(output));
}

/// Returns the programs of the plan that are missing in the jail.
Result<std::vector<std::string>> FindMissing(const Runner& runner, const Plan& plan) {
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<shells::MappedOutput> output,
                           runner.Ask(MissingText(plan)));
  std::vector<std::string> missing;
  if (!output) return missing;
  for (const std::string& line : Split(output->view(), '\n')) {
    if (!line.empty()) missing.push_back(line);
  }
  return missing;
}

/// What a parser needs to know beside the output.
struct Reading {
  const Plan& plan;
  const Project& project;
  std::string module;
  ExitMeaning meaning;
};

/// Parses the complete output of the command and its report.
Report Read(const Reading& reading, const Ended& ended,
            const std::optional<shells::MappedOutput>& report) {
  const Plan& plan = reading.plan;
  if (plan.parser == nullptr) return Unreadable{"nobody reads the output of this command"};
  if (!plan.report.empty() && !report) return Unreadable{"the tool wrote no report"};
  const Result<shells::MappedOutput> out = ended.shell->FindStream("stdout")->Map();
  const Result<shells::MappedOutput> err = ended.shell->FindStream("stderr")->Map();
  for (const Result<shells::MappedOutput>* each : {&out, &err}) {
    if (!each->ok()) return Unreadable{each->error().message()};
  }
  ParserInput input = {.out = out->view(),
                       .err = err->view(),
                       .report = report ? report->view() : std::string_view(),
                       .root = reading.project.directory(),
                       .module = reading.module,
                       .patterns = plan.patterns};
  if (ended.outcome.end == jail::End::kExited) {
    input.exit_code = reading.meaning == ExitMeaning::kOk ? 0 : ended.outcome.exit_code;
  }
  return ReadReport(*plan.parser, input);
}

/// Returns the last lines of the stream.
std::string EndOf(const shells::OutputLog& log) {
  const std::uint64_t end = log.extent().end;
  const std::uint64_t from = end - std::min<std::uint64_t>(end, kLogBytes);
  std::string text = shells::ReadOn(log, from, kLogBytes).bytes;
  // The first line is not complete.
  if (from > 0 && text.find('\n') != std::string::npos) text.erase(0, text.find('\n') + 1);
  return ToUtf8(text);
}

/// Returns the ends of both streams.
std::string LogOf(const shells::Shell& shell) {
  std::string text = EndOf(*shell.FindStream("stdout"));
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  const std::string err = EndOf(*shell.FindStream("stderr"));
  if (!err.empty()) text += "--- stderr ---\n" + err;
  return text;
}

/// Returns the result without what the run will tell.
CheckResult ResultFor(const Plan& plan, const Project& project, const RunOptions& options) {
  CheckResult result;
  result.language = plan.language;
  result.check = CheckName(plan.check);
  result.project = project.path();
  result.command = ShownCommand(plan.argv);
  result.timeout = std::chrono::duration<double>(options.timeout).count();
  return result;
}

bool IsExplained(const CheckResult& result) {
  if (result.verdict == Verdict::kPassed) return true;
  return !result.failures.empty() || !result.findings.empty() || !result.unformatted.empty() ||
         !result.build_errors.empty();
}

/// Adds the verdict and what it follows from.
void Conclude(Evidence evidence, const shells::Shell& shell, CheckResult& result) {
  Judgement judgement = Judge(evidence);
  result.verdict = judgement.verdict;
  result.reason = std::move(judgement.reason);
  result.missing = std::move(evidence.missing);
  AddReport(std::move(evidence.report), result);
  if (!IsExplained(result)) result.log = LogOf(shell);
}

}  // namespace

Result<CommandRun> RunPlain(const Ground& ground, const Project& project, const Plan& plan,
                            Duration timeout) {
  const Runner runner(ground, project);
  POLYBOX_ASSIGN_OR_RETURN(Ended ended, runner.Run(CommandText(plan, NewRunName()), timeout));
  CommandRun run = {.command = ShownCommand(plan.argv),
                    .shell = std::move(ended.shell),
                    .outcome = std::move(ended.outcome)};
  if (shells::ExitCodeOf(run.outcome) == kMissingCode) {
    POLYBOX_ASSIGN_OR_RETURN(run.missing, FindMissing(runner, plan));
  }
  return run;
}

Result<CheckResult> RunCheck(const Ground& ground, const Detector& detector, const Project& project,
                             const Plan& plan, const RunOptions& options) {
  const auto begin = steady_clock::now();
  const Runner runner(ground, project);
  const std::string name = NewRunName();
  POLYBOX_ASSIGN_OR_RETURN(const Ended ended, runner.Run(CommandText(plan, name), options.timeout));
  CheckResult result = ResultFor(plan, project, options);
  result.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  result.exit_code = shells::ExitCodeOf(ended.outcome);
  Evidence evidence = {.outcome = ended.outcome};
  evidence.meaning = detector.MeaningOf(plan.check, ended.outcome.exit_code);
  std::optional<shells::MappedOutput> report;
  if (!plan.report.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(report, runner.Ask(ReportText(plan, name)));
  }
  if (result.exit_code == kMissingCode) {
    POLYBOX_ASSIGN_OR_RETURN(evidence.missing, FindMissing(runner, plan));
  }
  const Reading reading = {plan, project, detector.ModuleOf(project), evidence.meaning};
  evidence.report = Read(reading, ended, report);
  Conclude(std::move(evidence), *ended.shell, result);
  const bool has_more = result.verdict != Verdict::kPassed && result.missing.empty();
  if (options.keeps_output && has_more) {
    result.shell_id = ended.shell->id();
  } else {
    ground.shells.Forget(ended.shell);
  }
  return result;
}

}  // namespace polybox::verify

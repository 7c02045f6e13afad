#include "exec/session.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>

#include "exec/capture.h"
#include "exec/collect.h"
#include "exec/memory_note.h"
#include "exec/warm.h"
#include "launch/streams.h"
#include "limits/limits.h"

namespace polybox::exec {
namespace {

/// Returns an error if the files of the request need more space than the request allows for the
/// run.
Status CheckRoom(const std::vector<jail::InputFile>& files, const Overrides& overrides) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t taken = 0;
  for (const jail::InputFile& file : files)
    taken += (file.content.size() + kPage - 1) / kPage * kPage;
  if (!overrides.disk || Bytes(taken) <= *overrides.disk) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("the files take {} bytes of the disk, of which the run may have {}",
                           taken, overrides.disk->count()));
}

/// Records the output of a step in the form that the request asks for.
class Recorder {
 public:
  Recorder(const Request& request, StepKind kind, Bytes limit)
      : request_(request), kind_(kind), out_(limit), err_(limit) {}

  compile::Listener listener() {
    return [this](Stream stream, std::string_view text) { Take(stream, text); };
  }

  /// Fills in the output. Called after the last output; `terms` are those of the step.
  void Finish(const MemoryTerms& terms, StepReport& report) {
    const std::string note = err_end_.Note(report.outcome, terms);
    if (!note.empty()) Take(Stream::kErr, note);
    report.memory_note = note;
    report.out = out_.Text();
    report.err = err_.Text();
    report.out_truncated = out_.truncated();
    report.err_truncated = err_.truncated();
    report.combined = std::move(combined_);
  }

 private:
  void Take(Stream stream, std::string_view text) {
    (stream == Stream::kOut ? out_ : err_).Add(text);
    if (stream == Stream::kErr) err_end_.Add(text);
    if (request_.wants_combined) combined_ += text;
    if (request_.on_output) request_.on_output(kind_, stream, text);
  }

  const Request& request_;
  StepKind kind_;
  Capture out_;
  Capture err_;
  ErrorEnd err_end_;
  std::string combined_;
};

}  // namespace

/// A step as the slot executes it.
struct Session::Step {
  jail::RunRequest run;
  Bytes output;
  MemoryTerms memory;
  /// Kills the step.
  std::stop_token kill;

  jail::HeldLimits held() const { return {run.limits.wall_time, output}; }
};

Status Session::Run(const Program& program, launch::Installation installation) {
  POLYBOX_ASSIGN_OR_RETURN(const Placed placed, Place(program, std::move(installation)));
  const languages::Language& language = placed.installation.language;
  if (cancelled()) return {};
  if (!language.compile) {
    POLYBOX_RETURN_IF_ERROR(slot_.PutFiles(placed.files));
  } else {
    POLYBOX_RETURN_IF_ERROR(Compile(placed));
  }
  // A compiler that fails ends the session: the report has no run then.
  if (cancelled() || !HasCompiled(placed)) return {};
  const auto& fallback = language.fallback;
  if (terms_.gate != nullptr && fallback) {
    terms_.gate->Expect(
        launch::ExpandFor(placed.installation, {program.files, {}}, fallback->begins));
  }
  POLYBOX_ASSIGN_OR_RETURN(const Step step, StepFor(placed, StepKind::kRun));
  POLYBOX_ASSIGN_OR_RETURN(report_.run, Perform(StepKind::kRun, step));
  report_.warm = report_.run->outcome.warm;
  if (!program.output_directory.empty() && !cancelled()) {
    POLYBOX_RETURN_IF_ERROR(Collect(program.output_directory));
  }
  if (cancelled() || !LooksRefused(placed)) return {};
  POLYBOX_ASSIGN_OR_RETURN(report_.refused, IsRefused(placed));
  return {};
}

Result<Session::Placed> Session::Place(const Program& program,
                                       launch::Installation installation) const {
  // Paths in the jail are known only now. The files contain them.
  installation.places = slot_.places();
  Placed placed{program, std::move(installation)};
  POLYBOX_ASSIGN_OR_RETURN(placed.files,
                           launch::FilesFor(placed.installation, {program.files, program.args}));
  if (!program.output_directory.empty()) {
    placed.files.push_back({program.output_directory, "", S_IFDIR | 0755});
  }
  POLYBOX_RETURN_IF_ERROR(CheckRoom(placed.files, request_.run));
  return placed;
}

Result<Session::Step> Session::StepFor(const Placed& placed, StepKind kind) const {
  const bool is_run = kind == StepKind::kRun;
  const Program& program = placed.program;
  const launch::Installation& installation = placed.installation;
  const languages::Language& language = installation.language;
  const languages::Step& step = is_run ? language.run : *language.compile;
  const Overrides& overrides = is_run ? request_.run : program.compile;
  POLYBOX_ASSIGN_OR_RETURN(
      jail::RunRequest run,
      launch::RequestFor(installation, step, {program.files, program.args, overrides.memory}));
  languages::Limits limits = step.limits;
  limits::Apply(overrides, limits);
  run.limits = limits;
  MemoryTerms memory = {
      .step = kind,
      .memory = run.limits.memory,
      .address_space = run.limits.address_space,
      .words = step.out_of_memory,
      .raised_by = is_run ? request_.run_memory_from : program.compile_memory_from};
  run.one_cpu = request_.one_cpu;
  if (is_run) {
    for (const auto& [name, value] : program.env) launch::SetVariable(run, name, value);
    launch::NameOutput(installation, program.output_directory, run);
  }
  run.warm = is_run && TakesOver(installation, run);
  return Step{std::move(run), limits.output, std::move(memory), terms_.cancel};
}

Status Session::Compile(const Placed& placed) {
  POLYBOX_ASSIGN_OR_RETURN(const Step step, StepFor(placed, StepKind::kCompile));
  Recorder recorder(request_, StepKind::kCompile, step.output);
  compile::CompileJob job = {
      .sight = {placed.installation, placed.files, step.run, report_.isolation},
      .output = {},
      .listener = recorder.listener(),
      .run =
          [&](const compile::Listener& listener) {
            Tell(request_, Stage::kCompiling);
            return RunIn(StepKind::kCompile, step, listener);
          },
      .cancel = terms_.cancel};
  if (request_.output_rule == OutputRule::kEndRun) job.output = step.output;
  POLYBOX_ASSIGN_OR_RETURN(compile::Compiled compiled,
                           compile::CompileIn(slot_, terms_.cache, job));
  report_.compile_hit = compiled.hit;
  report_.compile.emplace();
  report_.compile->outcome = std::move(compiled.outcome);
  report_.compile->limits = step.held();
  recorder.Finish(step.memory, *report_.compile);
  return {};
}

bool Session::HasCompiled(const Placed& placed) const {
  if (!placed.installation.language.compile) return true;
  const jail::Outcome& outcome = report_.compile->outcome;
  return outcome.end == jail::End::kExited && outcome.exit_code == 0;
}

Result<StepReport> Session::Perform(StepKind kind, const Step& step) {
  if (kind == StepKind::kRun) Tell(request_, Stage::kRunning);
  // The compile step must not reach the network. Its processes are dead by now.
  if (kind == StepKind::kRun && terms_.egress != nullptr) terms_.egress->Open();
  Recorder recorder(request_, kind, step.output);
  StepReport report;
  report.limits = step.held();
  POLYBOX_ASSIGN_OR_RETURN(report.outcome, RunIn(kind, step, recorder.listener()));
  recorder.Finish(step.memory, report);
  return report;
}

Result<jail::Outcome> Session::RunIn(StepKind kind, const Step& step,
                                     const compile::Listener& listener) {
  launch::Streams streams;
  if (kind == StepKind::kRun) {
    streams.input_bytes = request_.input;
    streams.input = request_.attached.input;
  }
  streams.signals = request_.attached.signals;
  streams.out = [&](std::string_view text) { listener(Stream::kOut, text); };
  streams.err = [&](std::string_view text) { listener(Stream::kErr, text); };
  streams.limit =
      request_.output_rule == OutputRule::kEndRun ? std::optional(step.output) : std::nullopt;
  streams.cancel = step.kill;
  return launch::RunWithStreams(slot_, step.run, streams);
}

Status Session::RunCommand(jail::RunRequest run, SpaceWatch* space) {
  // The default limit of a command's output. It is more than the clients read of an answer.
  constexpr Bytes kOutput = Bytes::MiB(4);
  // The smallest limit of a file's size. The limit holds for /tmp as well, which has space of its
  // own.
  constexpr Bytes kSmallestFile = Bytes::MiB(1);
  languages::Limits limits{run.limits, kOutput};
  limits::Apply(request_.run, limits);
  run.limits = limits;
  run.one_cpu = request_.one_cpu;
  // The command is killed when the request is cancelled, and when its directory is full.
  std::stop_source kill;
  const std::stop_callback on_cancel(terms_.cancel, [&kill] { kill.request_stop(); });
  // Why the command was killed for lack of space; "" if it was not. Written with the mutex of
  // `space` held, which the destructor of `guard` takes as well.
  std::string no_space;
  std::unique_ptr<SpaceWatch::Guard> guard;
  if (space != nullptr) {
    POLYBOX_ASSIGN_OR_RETURN(guard, space->Watch([&](const std::string& reason) {
      no_space = reason;
      kill.request_stop();
    }));
    run.limits.file_size = std::clamp(guard->room(), kSmallestFile, run.limits.file_size);
  }
  MemoryTerms memory = {.memory = run.limits.memory,
                        .address_space = run.limits.address_space,
                        .raised_by = request_.run_memory_from};
  const Step step = {std::move(run), limits.output, std::move(memory), kill.get_token()};
  POLYBOX_ASSIGN_OR_RETURN(report_.run, Perform(StepKind::kRun, step));
  guard.reset();
  if (!no_space.empty() && report_.run->outcome.end == jail::End::kCancelled) {
    report_.run->outcome.end = jail::End::kDiskLimit;
    report_.run->ended_because = no_space;
  }
  return {};
}

bool Session::LooksRefused(const Placed& placed) const {
  const auto& fallback = placed.installation.language.fallback;
  if (terms_.gate == nullptr || !fallback) return false;
  const StepReport& run = *report_.run;
  const bool failed = run.outcome.end == jail::End::kExited && run.outcome.exit_code != 0;
  return failed && run.out.empty() && !run.err.empty() && terms_.gate->MayBeReport(run.err) &&
         std::ranges::any_of(fallback->words, [&](const std::string& words) {
           return run.err.find(words) != std::string::npos;
         });
}

Result<bool> Session::IsRefused(const Placed& placed) {
  constexpr auto kTime = std::chrono::seconds(10);
  // A program that ran may have changed its own file. The check must read the file of the request.
  POLYBOX_RETURN_IF_ERROR(slot_.Reset());
  POLYBOX_RETURN_IF_ERROR(slot_.PutFiles(placed.files));
  languages::Step check = placed.installation.language.run;
  check.command = placed.installation.language.fallback->check;
  POLYBOX_ASSIGN_OR_RETURN(jail::RunRequest run, launch::RequestFor(placed.installation, check,
                                                                    {placed.program.files, {}}));
  run.limits.wall_time = std::min<Duration>(run.limits.wall_time, kTime);
  // As a compile step, the check does not get the request's input.
  POLYBOX_ASSIGN_OR_RETURN(
      const jail::Outcome outcome,
      RunIn(StepKind::kCompile, {std::move(run), Bytes::KiB(64), {}, terms_.cancel},
            [](Stream, std::string_view) {}));
  return outcome.end == jail::End::kExited && outcome.exit_code == languages::Fallback::kRefused;
}

Status Session::Collect(const std::string& output_directory) {
  // Most programs leave the directory empty. This check needs no message to the slot.
  if (slot_.IsEmpty(output_directory)) return {};
  const Result<UniqueFd> directory = slot_.OpenDirectory(output_directory);
  // The guest may have removed the directory or replaced it.
  if (!directory.ok()) {
    report_.artifacts_left_out.push_back(directory.error().message());
    return {};
  }
  Result<Collected> collected = CollectFiles(directory->get(), {}, terms_.cancel);
  // A cancelled request has no report, and its slot is not broken.
  if (cancelled()) return {};
  if (!collected.ok()) return std::move(collected).error();
  report_.artifacts = std::move(collected->files);
  report_.artifacts_left_out = std::move(collected->left_out);
  return {};
}

}  // namespace polybox::exec

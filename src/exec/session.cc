#include "exec/session.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <sys/stat.h>

#include "exec/capture.h"
#include "exec/collect.h"
#include "exec/streams.h"
#include "exec/warm.h"
#include "jail/resource_limits.h"

namespace polybox::exec {
namespace {

void Apply(const Overrides& overrides, jail::RunLimits& limits) {
  if (overrides.wall_time) {
    limits.wall_time = *overrides.wall_time;
    // Who may run longer may compute longer, unless it says otherwise.
    limits.cpu_time = *overrides.wall_time;
  }
  if (overrides.cpu_time) limits.cpu_time = *overrides.cpu_time;
  if (overrides.memory) jail::SetMemory(limits, *overrides.memory);
  if (overrides.processes) limits.processes = *overrides.processes;
  if (overrides.disk) limits.disk = *overrides.disk;
}

/// A run that asks for less room than its own files take cannot be given it.
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

/// What a step says, as the request wants it kept.
class Recorder {
 public:
  Recorder(const Request& request, StepKind kind, Bytes limit)
      : request_(request), kind_(kind), out_(limit), err_(limit) {}

  Listener listener() {
    return [this](Stream stream, std::string_view text) { Take(stream, text); };
  }

  void Finish(StepReport& report) {
    report.out = out_.Text();
    report.err = err_.Text();
    report.out_truncated = out_.truncated();
    report.err_truncated = err_.truncated();
    report.combined = std::move(combined_);
  }

 private:
  void Take(Stream stream, std::string_view text) {
    (stream == Stream::kOut ? out_ : err_).Add(text);
    if (request_.wants_combined) combined_ += text;
    if (request_.on_output) request_.on_output(kind_, stream, text);
  }

  const Request& request_;
  StepKind kind_;
  Capture out_;
  Capture err_;
  std::string combined_;
};

}  // namespace

/// A step as it is executed.
struct Session::Step {
  jail::RunRequest run;
  Bytes output;
};

Result<Session::Step> Session::StepFor(const Installation& installation, StepKind kind) const {
  const bool is_run = kind == StepKind::kRun;
  const languages::Language& language = installation.language;
  const languages::Step& step = is_run ? language.run : *language.compile;
  const Overrides& overrides = is_run ? request_.run : request_.compile;
  POLYBOX_ASSIGN_OR_RETURN(jail::RunRequest run,
                           RequestFor(installation, step, {request_.files, request_.args}));
  Apply(overrides, run.limits);
  run.one_cpu = request_.one_cpu;
  if (is_run) {
    for (const auto& [name, value] : request_.env) SetVariable(run, name, value);
    NameOutput(installation, request_.output_directory, run);
  }
  run.warm = is_run && TakesOver(installation, run);
  return Step{std::move(run), overrides.output.value_or(step.limits.output)};
}

Result<jail::Outcome> Session::RunIn(jail::Slot& slot, StepKind kind, const Step& step,
                                     const Listener& listener) {
  Streams streams;
  if (kind == StepKind::kRun) streams.input_bytes = request_.input;
  streams.out = [&](std::string_view text) { listener(Stream::kOut, text); };
  streams.err = [&](std::string_view text) { listener(Stream::kErr, text); };
  streams.limit =
      request_.output_rule == OutputRule::kEndRun ? std::optional(step.output) : std::nullopt;
  streams.cancelled = &cancelled_;
  {
    const std::lock_guard lock(mutex_);
    slot_ = &slot;
  }
  Result<jail::Outcome> outcome = RunWithStreams(slot, step.run, streams);
  {
    const std::lock_guard lock(mutex_);
    slot_ = nullptr;
  }
  return outcome;
}

Result<StepReport> Session::Perform(jail::Slot& slot, StepKind kind, const Step& step) {
  // Whatever compiled it is gone by now.
  if (kind == StepKind::kRun && egress_ != nullptr) egress_->Open();
  Recorder recorder(request_, kind, step.output);
  StepReport report;
  POLYBOX_ASSIGN_OR_RETURN(report.outcome, RunIn(slot, kind, step, recorder.listener()));
  recorder.Finish(report);
  return report;
}

Status Session::Compile(jail::Slot& slot, const Installation& installation,
                        const std::vector<jail::InputFile>& files, Report& report) {
  POLYBOX_ASSIGN_OR_RETURN(const Step step, StepFor(installation, StepKind::kCompile));
  Recorder recorder(request_, StepKind::kCompile, step.output);
  CompileJob job = {
      .sight = {installation, files, step.run, report.isolation},
      .output = {},
      .listener = recorder.listener(),
      .run =
          [&](const Listener& listener) { return RunIn(slot, StepKind::kCompile, step, listener); },
      .cancel = stop_.get_token()};
  if (request_.output_rule == OutputRule::kEndRun) job.output = step.output;
  POLYBOX_ASSIGN_OR_RETURN(Compiled compiled, CompileIn(slot, cache_, job));
  report.compile_hit = compiled.hit;
  report.compile.emplace();
  report.compile->outcome = std::move(compiled.outcome);
  recorder.Finish(*report.compile);
  return {};
}

Status Session::RunCommand(jail::Slot& slot, jail::RunRequest run, SpaceWatch* space,
                           Report& report) {
  // More than the clients read of an answer.
  constexpr Bytes kOutput = Bytes::MiB(4);
  // It holds for /tmp as well, where there is room.
  constexpr Bytes kSmallestFile = Bytes::MiB(1);
  Apply(request_.run, run.limits);
  std::unique_ptr<SpaceWatch::Guard> guard;
  if (space != nullptr) {
    POLYBOX_ASSIGN_OR_RETURN(
        guard, space->Watch([this](const std::string& reason) { EndForWantOfSpace(reason); }));
    run.limits.file_size = std::clamp(guard->room(), kSmallestFile, run.limits.file_size);
  }
  const Step step = {std::move(run), request_.run.output.value_or(kOutput)};
  POLYBOX_ASSIGN_OR_RETURN(report.run, Perform(slot, StepKind::kRun, step));
  guard.reset();
  if (!no_space_.empty() && report.run->outcome.end == jail::End::kCancelled) {
    report.run->outcome.end = jail::End::kDiskLimit;
    report.run->ended_because = no_space_;
  }
  return {};
}

void Session::EndForWantOfSpace(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  no_space_ = reason;
  if (slot_ != nullptr) slot_->Signal(SIGKILL);
}

Status Session::Run(jail::Slot& slot, Installation installation, Report& report) {
  installation.places = slot.places();
  POLYBOX_ASSIGN_OR_RETURN(std::vector<jail::InputFile> files,
                           FilesFor(installation, {request_.files, request_.args}));
  if (!request_.output_directory.empty()) {
    files.push_back({request_.output_directory, "", S_IFDIR | 0755});
  }
  POLYBOX_RETURN_IF_ERROR(CheckRoom(files, request_.run));
  if (!installation.language.compile) {
    POLYBOX_RETURN_IF_ERROR(slot.PutFiles(files));
  } else if (!cancelled_) {
    POLYBOX_RETURN_IF_ERROR(Compile(slot, installation, files, report));
    const jail::Outcome& compiled = report.compile->outcome;
    if (compiled.end != jail::End::kExited || compiled.exit_code != 0) return {};
  }
  if (cancelled_) return {};
  POLYBOX_ASSIGN_OR_RETURN(const Step step, StepFor(installation, StepKind::kRun));
  POLYBOX_ASSIGN_OR_RETURN(report.run, Perform(slot, StepKind::kRun, step));
  report.warm = report.run->outcome.warm;
  return request_.output_directory.empty() || cancelled_ ? Status() : Collect(slot, report);
}

Status Session::Collect(jail::Slot& slot, Report& report) const {
  // What most programs leave there, and what needs no word with the slot.
  if (slot.IsEmpty(request_.output_directory)) return {};
  const Result<UniqueFd> directory = slot.OpenDirectory(request_.output_directory);
  // The guest may have removed it, or put something else there.
  if (!directory.ok()) {
    report.artifacts_left_out.push_back(directory.error().message());
    return {};
  }
  POLYBOX_ASSIGN_OR_RETURN(Collected collected, CollectFiles(directory->get()));
  report.artifacts = std::move(collected.files);
  report.artifacts_left_out = std::move(collected.left_out);
  return {};
}

void Session::Cancel() {
  cancelled_ = true;
  stop_.request_stop();
  const std::lock_guard lock(mutex_);
  if (slot_ != nullptr) slot_->Signal(SIGKILL);
}

}  // namespace polybox::exec

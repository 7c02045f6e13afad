// polybox run FILE...: runs one program in a jail, on the command line.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attached_run.h"
#include "base/files.h"
#include "command.h"
#include "complaint.h"
#include "exec/program_files.h"
#include "installed.h"
#include "isolation.h"
#include "jail/grade.h"
#include "limits/table.h"
#include "progress.h"
#include "run_engine.h"
#include "run_report.h"
#include "run_request.h"
#include "sys/write_beneath.h"

namespace polybox::cmd {
namespace {

using exec::Report;
using languages::Language;

/// Opens the file of --stdin; an empty descriptor for "".
Result<UniqueFd> OpenInput(const std::string& path) {
  if (path.empty()) return UniqueFd();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error::FromErrno("--stdin " + path, EISDIR);
  }
  return OpenFile(path, O_RDONLY);
}

/// Opens the directory of --output and makes it if necessary; an empty descriptor for "".
Result<UniqueFd> OpenOutput(const std::string& path) {
  if (path.empty()) return UniqueFd();
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Error::FromErrno("--output: make " + path, error.value());
  return OpenFile(path, O_RDONLY | O_DIRECTORY).In("--output");
}

/// One `polybox run`, from the program's files to the report.
class RunFlow {
 public:
  RunFlow(const RunFlags& flags, const Context& context) : flags_(flags), context_(context) {}

  /// Returns the exit code. Runs the program in the strongest grade in which programs run on this
  /// host.
  Result<int> Run(exec::ProgramFiles program, const languages::Registry& registry,
                  exec::Descent descent) {
    const Language& language = *program.language;
    skipped_ = std::move(program.skipped);
    for (const std::string& path : skipped_) {
      context_.err.PrintLine("polybox: left out: " + path);
    }
    POLYBOX_ASSIGN_OR_RETURN(exec::Request request,
                             RequestOf(flags_, language, std::move(program.files)));
    auto& asked = std::get<exec::Program>(request.work);
    POLYBOX_ASSIGN_OR_RETURN(const exec::Catalog catalog, CatalogOf(language, registry));
    POLYBOX_ASSIGN_OR_RETURN(output_, OpenOutput(flags_.output));
    if (output_.valid()) asked.output_directory = context_.config.settings.output_dir;
    // Opening a FIFO without a writer waits. Therefore this is before TakeSignals(): a signal can
    // still end polybox here.
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd input, OpenInput(flags_.input));
    const bool reads_ours = !input.valid() && flags_.files[0] != "-";
    request.attached.input = reads_ours ? STDIN_FILENO : input.get();
    request.on_output = [this](exec::StepKind, exec::Stream stream, std::string_view text) {
      PassOn(stream == exec::Stream::kOut ? STDOUT_FILENO : STDERR_FILENO, text);
    };
    request.on_stage = [this, packages = fmt::format("{}", fmt::join(asked.requirements, " "))](
                           exec::Stage stage) { Show(stage, packages); };
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, TakeSignals());
    // Each round uses the next weaker grade. A round that ran the program is the last one, because
    // a program must not run twice.
    while (true) {
      POLYBOX_ASSIGN_OR_RETURN(Tried tried, TryOn(descent, catalog, language, request, signals));
      if (!tried.unusable) {
        TellPassedOver(descent, context_.log);
        return Finish(language, tried.answered);
      }
      if (!descent.GoDown(*tried.unusable)) return descent.Failure();
    }
  }

 private:
  struct Tried {
    AttachedAnswer answered;
    /// Why no program runs in this isolation; nothing when programs do run.
    std::optional<Error> unusable;
  };

  /// Runs the request in the current grade of `descent`. If the request fails, runs a trial program
  /// to find out whether the isolation is the reason.
  Result<Tried> TryOn(const exec::Descent& descent, const exec::Catalog& catalog,
                      const Language& language, const exec::Request& request,
                      const UniqueFd& signals) {
    Result<launch::JailHome> home = descent.MakeHome();
    if (!home.ok()) return Tried{{}, home.error()};
    home->SetReuse(context_.config.settings.reuse == "on");
    POLYBOX_ASSIGN_OR_RETURN(
        const std::unique_ptr<RunEngine> engine,
        RunEngine::Make(catalog, language, std::move(home).value(),
                        {.warm = flags_.warm,
                         .installs = !std::get<exec::Program>(request.work).requirements.empty()},
                        context_));
    Tried tried{RunAttached(engine->executor(), request, signals.get()), std::nullopt};
    const auto* refusal = std::get_if<exec::Refusal>(&tried.answered.answer);
    if (refusal == nullptr || refusal->kind != exec::RefusalKind::kFailed) return tried;
    if (const Status trial = exec::TrySlot(engine->home()); !trial.ok()) {
      tried.unusable = trial.error();
    }
    return tried;
  }

  /// Returns a catalog of the one language. The error says why its toolchain does not run here.
  Result<exec::Catalog> CatalogOf(const Language& language,
                                  const languages::Registry& registry) const {
    const config::Settings& settings = context_.config.settings;
    exec::Catalog catalog(registry,
                          languages::FindToolchains({language}, FinderFor(settings), context_.log),
                          settings.packages_dir);
    const Error* why = catalog.WhyNot(language.id);
    if (why == nullptr) return catalog;
    return Error(ErrorKind::kUnavailable,
                 fmt::format("{} does not run here: {}", language.name, why->message()))
        .WithFix(why->fix());
  }

  /// Writes a part of the output to our own stream. With --json the report contains the output
  /// instead.
  void PassOn(int fd, std::string_view text) {
    if (flags_.as_json) return;
    progress_.End();
    const Status written = WriteAll(fd, text);
    // A reader such as `head` closes the pipe when it has enough; this is no error.
    if (!written.ok() && written.error().system_errno() != EPIPE) lost_ = written.error();
  }

  /// Tells a person what the run waits for. The program has the terminal for itself as soon as it
  /// runs.
  void Show(exec::Stage stage, const std::string& packages) {
    switch (stage) {
      case exec::Stage::kQueued:
        return progress_.Begin("waiting for a free place");
      case exec::Stage::kInstalling:
        return progress_.Begin("installing " + packages);
      case exec::Stage::kCompiling:
        return progress_.Begin("compiling");
      case exec::Stage::kRunning:
        return progress_.End();
    }
  }

  /// Ends the run that the engine has answered, and returns the exit code. A guest that failed is
  /// no error of polybox.
  Result<int> Finish(const Language& language, const AttachedAnswer& answered) {
    progress_.End();
    if (lost_) return Error(*lost_).In("write the output");
    if (const auto* report = std::get_if<Report>(&answered.answer)) {
      return Finish(language, *report);
    }
    const auto& refusal = std::get<exec::Refusal>(answered.answer);
    if (refusal.kind == exec::RefusalKind::kCancelled && answered.ended_by != 0) {
      const Error error(ErrorKind::kUnavailable, fmt::format("ended by {} before the program ran",
                                                             jail::SignalName(answered.ended_by)));
      return Complain({.out = context_.out,
                       .err = context_.err,
                       .as_json = flags_.as_json,
                       .exit_code = 128 + answered.ended_by},
                      error);
    }
    const bool invalid = refusal.kind == exec::RefusalKind::kInvalid;
    return Error(invalid ? ErrorKind::kInvalid : ErrorKind::kUnavailable, refusal.message);
  }

  /// Writes the files, prints the report and returns the exit code of the last step.
  int Finish(const Language& language, const Report& report) {
    const exec::StepReport* last = report.run       ? &*report.run
                                   : report.compile ? &*report.compile
                                                    : nullptr;
    const std::vector<WrittenFile> files = WriteFiles(report);
    int code = last == nullptr ? kFailure : jail::ShellCode(last->outcome);
    const bool lost = std::ranges::any_of(files, [](const auto& f) { return !f.problem.empty(); });
    if (code == 0 && lost) code = kFailure;
    if (flags_.as_json) {
      context_.out.PrintLine(ReportJson({language.id, report, files, skipped_, code}));
    } else {
      Explain(report, last, files);
    }
    return code;
  }

  /// Prints for people what the program's own output does not say.
  void Explain(const Report& report, const exec::StepReport* last,
               const std::vector<WrittenFile>& files) const {
    const auto say = [this](const std::string& text) {
      context_.err.PrintLine("polybox: " + text);
    };
    if (report.install_failure) say("package installation failed: " + *report.install_failure);
    if (last != nullptr) {
      const std::string reason = jail::Explain(last->outcome, last->limits);
      const std::string advice = report.run ? Advice(flags_, last->outcome.end) : "";
      if (!reason.empty()) say((report.run ? "" : "while compiling: ") + reason + advice);
    }
    for (const std::string& path : report.artifacts_left_out) say("not handed over: " + path);
    for (const WrittenFile& file : files) {
      if (!file.problem.empty()) {
        say(fmt::format("not written: {}/{}: {}", flags_.output, file.path, file.problem));
      }
    }
  }

  /// Writes the program's output files into the directory of --output.
  std::vector<WrittenFile> WriteFiles(const Report& report) const {
    std::vector<WrittenFile> files;
    const auto rule = flags_.overwrite ? sys::Existing::kReplace : sys::Existing::kKeep;
    for (const exec::Artifact& artifact : report.artifacts) {
      WrittenFile file = {artifact.path, artifact.content.size(), ""};
      const Status written =
          sys::WriteBeneath(output_.get(), artifact.path, artifact.content, rule);
      if (!written.ok() && written.error().system_errno() == EEXIST) {
        file.problem = flags_.overwrite ? "it exists and is no plain file"
                                        : "it exists; --overwrite replaces it";
      } else if (!written.ok()) {
        file.problem = written.error().message();
      }
      files.push_back(std::move(file));
    }
    return files;
  }

  const RunFlags& flags_;
  const Context& context_;
  std::vector<std::string> skipped_;
  UniqueFd output_;
  Progress progress_{context_.err};
  /// Why some of the program's output could not be passed on.
  std::optional<Error> lost_;
};

Result<int> Run(const RunFlags& flags, const Context& context) {
  const config::Settings& settings = context.config.settings;
  // DescentFor() forks, so it runs before any thread is started.
  POLYBOX_ASSIGN_OR_RETURN(exec::Descent descent, DescentFor(settings));
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry, LoadRegistry(settings));
  POLYBOX_ASSIGN_OR_RETURN(
      exec::ProgramFiles program,
      exec::ReadProgramFiles(
          registry, {.paths = flags.files, .entry = flags.entry, .language = flags.language}));
  return RunFlow(flags, context).Run(std::move(program), registry, std::move(descent));
}

/// Adds the flags of the limits whose values have this unit.
void AddLimits(const std::shared_ptr<RunFlags>& flags, limits::Unit unit,
               std::vector<Option>& options) {
  for (std::size_t i = 0; i < limits::kLimits.size(); ++i) {
    const limits::Limit& limit = limits::kLimits[i];
    if (limit.unit() != unit || limit.flag.name.empty()) continue;
    options.push_back({.name = std::string(limit.flag.name),
                       .doc = std::string(limit.flag.doc),
                       .into = std::shared_ptr<std::string>(flags, &flags->limits[i])});
  }
}

/// Returns the options of `polybox run`. Each option fills a member of `flags`.
std::vector<Option> OptionsOf(const std::shared_ptr<RunFlags>& flags) {
  const auto text = [&](std::string& into) { return std::shared_ptr<std::string>(flags, &into); };
  const auto list = [&](std::vector<std::string>& into) {
    return std::shared_ptr<std::vector<std::string>>(flags, &into);
  };
  const auto flag = [&](bool& into) { return std::shared_ptr<bool>(flags, &into); };
  std::vector<Option> options = {
      {.name = "file",
       .doc = "The program: files, of which the first is run, or a directory; - for standard input",
       .into = list(flags->files),
       .required = true},
      {.name = "args",
       .doc = "Arguments of the program, after --",
       .into = list(flags->args),
       .after_dashes = true},
      {.name = "--entry",
       .doc = "The file that is run, by its name in the working directory "
              "[the first; of a directory the one with a usual name]",
       .into = text(flags->entry)},
      {.name = "--language",
       .doc = "Language of the program [by extension, else by #! line]",
       .into = text(flags->language)},
      {.name = "--requirement",
       .doc = "Package that the program needs, such as six==1.17.0; may be given more than once",
       .into = list(flags->requirements)},
      {.name = "--requirements",
       .doc = "File that lists such packages, one on each line",
       .into = list(flags->requirements_files)},
      {.name = "--env",
       .doc = "NAME=VALUE for the program's environment; may be given more than once",
       .into = list(flags->env)},
      {.name = "--output",
       .doc = "Directory for the files that the program leaves in $OUTPUT_DIR; existing files are "
              "kept",
       .into = text(flags->output)},
      {.name = "--overwrite",
       .doc = "Replace existing files in the directory of --output",
       .into = flag(flags->overwrite)},
      {.name = "--stdin", .doc = "File that it reads as its input", .into = text(flags->input)}};
  AddLimits(flags, limits::Unit::kTime, options);
  options.push_back({.name = "--install-timeout",
                     .doc = "How long the installation of its packages may take [2m]",
                     .into = text(flags->install_timeout)});
  AddLimits(flags, limits::Unit::kSize, options);
  options.push_back({.name = "--warm",
                     .doc = "Starts its interpreter before handing the program over, as the server "
                            "does",
                     .into = flag(flags->warm)});
  options.push_back(JsonOption(flag(flags->as_json)));
  return options;
}

}  // namespace

Subcommand RunCommand() {
  const auto flags = std::make_shared<RunFlags>();
  return {
      .name = "run",
      .doc = "Run a program in the jail",
      .options = OptionsOf(flags),
      .run = [flags](const Context& context) -> int {
        const Result<int> code = Run(*flags, context);
        if (code.ok()) return *code;
        return Complain({.out = context.out, .err = context.err, .as_json = flags->as_json},
                        code.error());
      },
      .note =
          "Words after -- are the program's arguments.\n\n"
          "Exits with the program's code; with 128 plus the number of the signal that ended the "
          "program, or 137 if a limit ended it; with 125 if the program could not be started, 1 if "
          "polybox failed to run it or to write its files, and 2 for a usage error. --json tells "
          "these cases apart, and prints JSON in each of them."};
}

}  // namespace polybox::cmd

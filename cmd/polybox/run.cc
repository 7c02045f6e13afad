// polybox run FILE: one program in the jail, on the command line.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/signalfd.h>

#include "base/files.h"
#include "base/nearest.h"
#include "caches.h"
#include "command.h"
#include "egress.h"
#include "exec/compile_step.h"
#include "exec/jail_home.h"
#include "exec/launch.h"
#include "exec/streams.h"
#include "exec/warm.h"
#include "installed.h"
#include "isolation.h"
#include "jail/grade.h"
#include "jail/resource_limits.h"
#include "run_report.h"

namespace polybox::cmd {
namespace {

using jail::Grade;
using jail::Outcome;
using languages::Language;
using Sink = exec::Streams::Sink;

struct Flags {
  std::shared_ptr<std::string> file = std::make_shared<std::string>();
  std::shared_ptr<std::vector<std::string>> args = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<std::string> language = std::make_shared<std::string>();
  std::shared_ptr<std::string> input = std::make_shared<std::string>();
  std::shared_ptr<std::string> timeout = std::make_shared<std::string>();
  std::shared_ptr<std::string> memory = std::make_shared<std::string>();
  std::shared_ptr<std::string> output = std::make_shared<std::string>();
  std::shared_ptr<bool> as_json = std::make_shared<bool>(false);
  std::shared_ptr<bool> warm = std::make_shared<bool>(false);
};

Error Invalid(std::string message) {
  return Error(ErrorKind::kInvalid, std::move(message));
}

/// The interpreter's name in a first line like `#!/usr/bin/env -S python3 -u`; "" when there is
/// none.
std::string ShebangName(std::string_view content) {
  if (!content.starts_with("#!")) return "";
  std::string line(content.substr(2, content.find('\n') - 2));
  std::replace(line.begin(), line.end(), '\t', ' ');
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::string name = word.substr(word.rfind('/') + 1);
    if (!name.empty() && name != "env" && !name.starts_with('-')) return name;
    at = end + 1;
  }
  return "";
}

const Language* ByExtension(const languages::Registry& registry, const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  for (const Language& language : registry.all()) {
    if (std::ranges::count(language.extensions, extension) != 0) return &language;
  }
  return nullptr;
}

const Language* ByShebang(const languages::Registry& registry, std::string_view content) {
  const std::string name = ShebangName(content);
  for (const Language& language : registry.all()) {
    if (!name.empty() && std::ranges::count(language.shebangs, name) != 0) return &language;
  }
  return nullptr;
}

/// By flag, else by extension, else by shebang.
Result<const Language*> ChooseLanguage(const languages::Registry& registry, const Flags& flags,
                                       std::string_view content) {
  std::vector<std::string_view> ids;
  for (const Language& language : registry.all()) ids.push_back(language.id);
  if (!flags.language->empty()) {
    const Language* named = registry.Find(*flags.language);
    if (named != nullptr) return named;
    return Invalid(fmt::format("no language \"{}\"{} (known: {})", *flags.language,
                               DidYouMean(*flags.language, ids), fmt::join(ids, ", ")));
  }
  const Language* found = ByExtension(registry, *flags.file);
  if (found == nullptr) found = ByShebang(registry, content);
  if (found != nullptr) return found;
  return Invalid(
      fmt::format("{}: neither its extension nor a #! line says which language it is; "
                  "give --language (known: {})",
                  *flags.file, fmt::join(ids, ", ")));
}

Result<std::string> ReadProgram(const std::string& file) {
  if (file == "-") return ReadAll(STDIN_FILENO, Bytes::MiB(16)).In("standard input");
  return ReadFile(file);
}

Status ApplyLimits(const Flags& flags, jail::RunLimits& limits, Bytes& output) {
  if (!flags.timeout->empty()) {
    POLYBOX_ASSIGN_OR_RETURN(
        limits.wall_time,
        ParseDuration(WithUnit(*flags.timeout, "s")).In("--timeout \"" + *flags.timeout + "\""));
    limits.cpu_time = std::max(limits.cpu_time, limits.wall_time);
  }
  if (!flags.output->empty()) {
    POLYBOX_ASSIGN_OR_RETURN(
        output,
        ParseBytes(WithUnit(*flags.output, "B")).In("--output-limit \"" + *flags.output + "\""));
  }
  if (!flags.memory->empty()) {
    POLYBOX_ASSIGN_OR_RETURN(const Bytes memory,
                             ParseBytes(*flags.memory).In("--memory \"" + *flags.memory + "\""));
    jail::SetMemory(limits, memory);
  }
  return {};
}

/// What the limit that ended the program can be changed with, for those who have not done so.
std::string Advice(const Flags& flags, jail::End end) {
  const struct {
    jail::End end;
    const std::string& given;
    const char* flag;
  } rows[] = {{jail::End::kTimedOut, *flags.timeout, "--timeout TIME"},
              {jail::End::kOutOfMemory, *flags.memory, "--memory SIZE"},
              {jail::End::kOutputLimit, *flags.output, "--output-limit SIZE"}};
  for (const auto& row : rows) {
    if (row.end == end && row.given.empty()) return fmt::format(" ({} allows more)", row.flag);
  }
  return "";
}

/// SIGINT and SIGTERM as a descriptor; they are the guest's from here on.
Result<UniqueFd> TakeSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Error::FromErrno("block signals");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd.valid()) return Error::FromErrno("make a signalfd");
  return fd;
}

/// None for "".
Result<UniqueFd> OpenInput(const std::string& path) {
  if (path.empty()) return UniqueFd();
  if (std::filesystem::is_directory(path)) {
    return Error::FromErrno("--stdin " + path, EISDIR);
  }
  return OpenFile(path, O_RDONLY);
}

/// One `polybox run`, from the chosen language to the report.
class Session {
 public:
  Session(const Flags& flags, const Context& context, Grade grade)
      : flags_(flags),
        context_(context),
        grade_(grade),
        caches_(context, [&context](const Error& error) {
          context.err.PrintLine("polybox: warning: " + error.message());
          context.err.PrintLine("fix: " + error.fix());
        }) {}

  Result<int> Run(const Language& language, const languages::Toolchain& toolchain,
                  std::string content) {
    const std::string set = context_.config.settings.packages_dir + "/" + language.id;
    const bool has_set = language.packages && ::access(set.c_str(), R_OK | X_OK) == 0;
    exec::Installation installation{language, toolchain, has_set ? set : ""};
    exec::Program program;
    const std::string name = *flags_.file == "-"
                                 ? language.entry.file
                                 : std::filesystem::path(*flags_.file).filename().string();
    program.files = {{name, std::move(content), 0644}};
    program.args = *flags_.args;
    // Before the signals are the guest's: a pipe that nobody writes to waits here.
    POLYBOX_ASSIGN_OR_RETURN(input_, OpenInput(*flags_.input));
    POLYBOX_ASSIGN_OR_RETURN(signals_, TakeSignals());
    POLYBOX_ASSIGN_OR_RETURN(
        egress_, GuestEgressFor(context_.config.settings, grade_,
                                std::make_shared<net::EgressLedger>("guest", context_.log)));
    installation.egress = egress_ != nullptr;
    POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot, MakeSlot(installation));
    installation.places = slot.places();
    // After the slot, so that it ends first.
    std::unique_ptr<net::EgressProxy> proxy;
    if (egress_ != nullptr) {
      POLYBOX_ASSIGN_OR_RETURN(proxy, egress_->Serve(slot));
    }
    for (const std::string& shared : slot.shared()) {
      context_.log.Warn("the guest is shown the host's own inodes", {{"what", shared}});
    }
    POLYBOX_ASSIGN_OR_RETURN(const auto files, exec::FilesFor(installation, program));
    std::optional<StepReport> compile;
    if (!language.compile) {
      POLYBOX_RETURN_IF_ERROR(slot.PutFiles(files));
    } else {
      POLYBOX_ASSIGN_OR_RETURN(compile, Compile(slot, installation, files, program));
      if (compile->outcome.end != jail::End::kExited || compile->outcome.exit_code != 0) {
        return Finish(language, compile, std::nullopt);
      }
    }
    if (proxy != nullptr) proxy->Open();
    POLYBOX_ASSIGN_OR_RETURN(StepReport run, RunProgram(slot, installation, program));
    return Finish(language, compile, std::move(run));
  }

 private:
  Result<jail::Slot> MakeSlot(exec::Installation& installation) {
    POLYBOX_ASSIGN_OR_RETURN(exec::JailHome home, exec::JailHome::Make(grade_));
    home_.emplace(std::move(home));
    preparer_ = caches_.OpenPreparer(*home_, exec::Preparer::Mode::kLook);
    if (preparer_ != nullptr) installation.prepared = preparer_->Get(installation);
    const bool warm = *flags_.warm && jail::HasNamespaces(grade_);
    if (warm) installation.warm = exec::WarmFor(installation, {}, {});
    if (warm && installation.warm.start.kind == jail::init::WarmKind::kNone) {
      return Error(ErrorKind::kInvalid, fmt::format("{} is not started ahead of its programs",
                                                    installation.language.name))
          .WithFix("leave out --warm");
    }
    POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot,
                             home_->MakeSlot(exec::SpecFor(installation, grade_), 0));
    // As between two runs of the server's: this waits for the interpreter.
    if (warm) POLYBOX_RETURN_IF_ERROR(slot.Reset());
    return slot;
  }

  /// Puts the files into the slot as well. The compiler's output goes where the program's goes;
  /// only the program gets the input.
  Result<StepReport> Compile(jail::Slot& slot, const exec::Installation& installation,
                             const std::vector<jail::InputFile>& files,
                             const exec::Program& program) {
    const languages::Step& step = *installation.language.compile;
    POLYBOX_ASSIGN_OR_RETURN(const jail::RunRequest request,
                             exec::RequestFor(installation, step, program));
    limits_ = {request.limits.memory, request.limits.wall_time, step.limits.output};
    StepReport report;
    const Sink out = SinkFor(STDOUT_FILENO, report.out);
    const Sink err = SinkFor(STDERR_FILENO, report.err);
    const std::unique_ptr<exec::CompileCache> cache = caches_.OpenCompileCache();
    const exec::CompileJob job = {
        .sight = {installation, files, request, grade_},
        .output = step.limits.output,
        .listener =
            [&](exec::Stream stream, std::string_view text) {
              (stream == exec::Stream::kOut ? out : err)(text);
            },
        .run = [&](const exec::Listener& listener) -> Result<Outcome> {
          exec::Streams streams;
          streams.out = [&](std::string_view text) { listener(exec::Stream::kOut, text); };
          streams.err = [&](std::string_view text) { listener(exec::Stream::kErr, text); };
          streams.limit = step.limits.output;
          streams.signals = signals_.get();
          return exec::RunWithStreams(slot, request, streams);
        }};
    POLYBOX_ASSIGN_OR_RETURN(exec::Compiled compiled, exec::CompileIn(slot, cache.get(), job));
    report.outcome = std::move(compiled.outcome);
    report.cached = compiled.hit;
    return report;
  }

  Result<StepReport> RunProgram(jail::Slot& slot, const exec::Installation& installation,
                                const exec::Program& program) {
    const languages::Step& step = installation.language.run;
    POLYBOX_ASSIGN_OR_RETURN(jail::RunRequest request,
                             exec::RequestFor(installation, step, program));
    Bytes output = step.limits.output;
    POLYBOX_RETURN_IF_ERROR(ApplyLimits(flags_, request.limits, output));
    limits_ = {request.limits.memory, request.limits.wall_time, output};
    request.warm = exec::TakesOver(installation, request);
    StepReport report;
    const bool from_terminal = !input_.valid() && *flags_.file != "-";
    exec::Streams streams;
    streams.input = input_.valid() ? input_.get() : from_terminal ? STDIN_FILENO : -1;
    streams.out = SinkFor(STDOUT_FILENO, report.out);
    streams.err = SinkFor(STDERR_FILENO, report.err);
    streams.limit = output;
    streams.signals = signals_.get();
    POLYBOX_ASSIGN_OR_RETURN(report.outcome,
                             exec::RunWithStreams(slot, std::move(request), streams));
    return report;
  }

  Sink SinkFor(int fd, std::string& kept) {
    if (*flags_.as_json) return [&kept](std::string_view text) { kept += text; };
    return [this, fd](std::string_view text) {
      const Status written = WriteAll(fd, text);
      // Who has heard enough closes the pipe.
      if (!written.ok() && written.error().system_errno() != EPIPE) lost_ = written.error();
    };
  }

  Result<int> Finish(const Language& language, const std::optional<StepReport>& compile,
                     const std::optional<StepReport>& run) const {
    if (lost_) return Error(*lost_).In("write the output");
    const StepReport& last = run ? *run : *compile;
    if (*flags_.as_json) {
      context_.out.PrintLine(ReportJson({language.id, grade_, compile, run}));
    } else {
      const std::string reason = jail::Explain(last.outcome, limits_);
      const std::string step = run ? "" : "while compiling: ";
      const std::string advice = run ? Advice(flags_, last.outcome.end) : "";
      if (!reason.empty()) context_.err.PrintLine("polybox: " + step + reason + advice);
    }
    return jail::ShellCode(last.outcome);
  }

  const Flags& flags_;
  const Context& context_;
  Grade grade_;
  Caches caches_;
  /// Of --stdin.
  UniqueFd input_;
  UniqueFd signals_;
  std::unique_ptr<exec::GuestEgress> egress_;
  std::optional<exec::JailHome> home_;
  std::unique_ptr<exec::Preparer> preparer_;
  /// Of the last step.
  jail::HeldLimits limits_;
  /// Why some of the output is gone.
  std::optional<Error> lost_;
};

Result<int> Run(const Flags& flags, const Context& context) {
  const config::Settings& settings = context.config.settings;
  // Before anything may start threads: it forks.
  POLYBOX_ASSIGN_OR_RETURN(const Grade grade, GradeFor(settings));
  POLYBOX_ASSIGN_OR_RETURN(std::string content, ReadProgram(*flags.file));
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry, LoadRegistry(settings));
  POLYBOX_ASSIGN_OR_RETURN(const Language* language, ChooseLanguage(registry, flags, content));
  languages::Toolchains found =
      languages::FindToolchains({*language}, FinderFor(settings), context.log);
  const Result<languages::Toolchain>& toolchain = found.at(language->id);
  if (!toolchain.ok()) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("{} does not run here: {}\nfix: {}", language->name,
                             toolchain.error().message(), toolchain.error().fix()));
  }
  return Session(flags, context, grade).Run(*language, *toolchain, std::move(content));
}

}  // namespace

Subcommand RunCommand() {
  const Flags flags;
  return {
      .name = "run",
      .doc = "Run a program in the jail",
      .options =
          {{.name = "file",
            .doc = "The program, or - for standard input",
            .into = flags.file,
            .required = true},
           {.name = "args", .doc = "Arguments of the program, after --", .into = flags.args},
           {.name = "--language",
            .doc = "Its language [by extension, else by #! line]",
            .into = flags.language},
           {.name = "--stdin", .doc = "File that it reads as its input", .into = flags.input},
           {.name = "--timeout",
            .doc = "How long it may run, such as 500ms; a bare number counts seconds",
            .into = flags.timeout},
           {.name = "--memory",
            .doc = "How much memory it may use, such as 256M",
            .into = flags.memory},
           {.name = "--output-limit",
            .doc = "How much it may print, such as 8M; a bare number counts bytes",
            .into = flags.output},
           {.name = "--warm",
            .doc = "Starts its interpreter before handing the program over, as the server does",
            .into = flags.warm},
           JsonOption(flags.as_json)},
      .run = [flags](const Context& context) -> int {
        const Result<int> code = Run(flags, context);
        if (code.ok()) return *code;
        context.err.PrintLine("polybox: " + code.error().message());
        if (!code.error().fix().empty()) context.err.PrintLine("fix: " + code.error().fix());
        return code.error().kind() == ErrorKind::kInvalid ? kUsage : kFailure;
      },
      .note =
          "Exits with the program's code; with 128 and the number of the signal that ended it, or "
          "137 when a limit did; with 125 when it could not be started, 1 when polybox could not "
          "run it, and 2 when it was asked wrong. --json tells which."};
}

}  // namespace polybox::cmd

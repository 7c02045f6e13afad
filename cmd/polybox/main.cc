// The polybox program: parses the command line, loads the settings and runs one subcommand.
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <unistd.h>

#include "command.h"
#include "command_line.h"
#include "complaint.h"
#include "config/load.h"
#include "secrets/environment.h"

namespace polybox::cmd {
namespace {

std::vector<Subcommand> AllSubcommands() {
  std::vector<Subcommand> all = {RunCommand(),    ServeCommand(),      McpCommand(),
                                 DoctorCommand(), LanguagesCommand(),  PreinstallCommand(),
                                 ConfigCommand(), CompletionCommand(), VersionCommand(),
                                 DocsCommand()};
  std::vector<Subcommand> checks = CheckCommands();
  all.insert(all.begin() + 1, std::make_move_iterator(checks.begin()),
             std::make_move_iterator(checks.end()));
  return all;
}

log::Logger MakeLogger(const config::Settings& settings, const Terminal& err) {
  const bool text =
      settings.log_format == "text" || (settings.log_format == "auto" && err.is_terminal());
  return log::Logger::ToStderr({.level = *log::ParseLevel(settings.log_level),
                                .format = text ? log::Format::kText : log::Format::kJson,
                                .colour = err.colours()});
}

/// Returns whether the command line asks for JSON, even if the rest of it is invalid.
bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json" || word == "--json=true") return true;
  }
  return false;
}

int Main(int argc, char** argv, const Terminal& out) {
  // First of all, so that no map of the environment and no child process has them.
  const std::vector<secrets::EnvironmentSecret> environment = secrets::TakeEnvironmentSecrets();
  const Terminal err(stderr);
  const std::vector<Subcommand> subcommands = AllSubcommands();
  auto answer = ParseCommandLine(argc, argv, subcommands);
  if (const auto* help = std::get_if<HelpText>(&answer)) {
    out.Print(help->text);
    return kSuccess;
  }
  const bool as_json = WantsJson(argc, argv);
  if (const auto* error = std::get_if<UsageError>(&answer)) {
    const std::string text = error->Text();
    return Complain({.out = out, .err = err, .as_json = as_json, .text = text}, error->error);
  }
  Parsed& parsed = std::get<Parsed>(answer);
  if (parsed.subcommand == nullptr) {
    out.Print(ProgramHelp(subcommands));
    return kSuccess;
  }
  const Result<config::Loaded> loaded =
      config::Load(config::ProcessInputs(std::move(parsed.settings)));
  if (!loaded.ok()) {
    return Complain({.out = out, .err = err, .as_json = as_json, .text = loaded.error().message()},
                    loaded.error());
  }
  const log::Logger log = MakeLogger(loaded->settings, err);
  if (parsed.subcommand->takes_server_settings) {
    for (const std::string& warning : loaded->warnings) log.Warn(warning);
  }
  try {
    return parsed.subcommand->run({.config = *loaded,
                                   .out = out,
                                   .err = err,
                                   .log = log,
                                   .secrets = environment,
                                   .subcommands = subcommands});
  } catch (const std::exception& failure) {
    // polybox reports errors as values. An exception is one that a library threw unexpectedly.
    const Error error(ErrorKind::kSystem, failure.what());
    return Complain({.out = out, .err = err, .as_json = as_json, .text = error.message()}, error);
  }
}

/// Opens /dev/null for each standard descriptor that is closed. Otherwise the next opened file
/// would be used as a standard stream. A read from /dev/null returns the end of file, and a write
/// fails as before, because the descriptor is read-only.
void FillStandardDescriptors() {
  int fd = -1;
  do {
    fd = ::open("/dev/null", O_RDONLY);  // NOLINT(android-cloexec-open): children have them too
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

}  // namespace

Option JsonOption(const std::shared_ptr<bool>& as_json) {
  return {.name = "--json", .doc = "Print JSON", .into = as_json};
}

}  // namespace polybox::cmd

int main(int argc, char** argv) {
  polybox::cmd::FillStandardDescriptors();
  // A write past a file size limit of polybox (ulimit -f) fails with EFBIG and is reported. The
  // slot init gives guests the default action of every signal again.
  ::signal(SIGXFSZ, SIG_IGN);
  const polybox::cmd::Terminal out(stdout);
  const int code = polybox::cmd::Main(argc, argv, out);
  if (out.Flush()) return code;
  const polybox::Error error = polybox::Error::FromErrno("polybox: write the output");
  polybox::cmd::Terminal(stderr).PrintLine(error.message());
  return polybox::cmd::kFailure;
}

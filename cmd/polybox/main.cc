// polybox: the program. Reads the command line, brings the settings together and runs one
// subcommand.
#include <fcntl.h>
#include <unistd.h>

#include "command.h"
#include "command_line.h"
#include "config/load.h"

namespace polybox::cmd {
namespace {

std::vector<Subcommand> AllSubcommands() {
  return {RunCommand(),        ServeCommand(),      DoctorCommand(),
          LanguagesCommand(),  PreinstallCommand(), ConfigCommand(),
          CompletionCommand(), VersionCommand(),    DocsCommand()};
}

log::Logger MakeLogger(const config::Settings& settings, const Terminal& err) {
  const bool text =
      settings.log_format == "text" || (settings.log_format == "auto" && err.is_terminal());
  return log::Logger::ToStderr({.level = *log::ParseLevel(settings.log_level),
                                .format = text ? log::Format::kText : log::Format::kJson,
                                .colour = err.colours()});
}

int Main(int argc, char** argv, const Terminal& out) {
  const Terminal err(stderr);
  const std::vector<Subcommand> subcommands = AllSubcommands();
  auto answer = ParseCommandLine(argc, argv, subcommands);
  if (const auto* help = std::get_if<HelpText>(&answer)) {
    out.Print(help->text);
    return kSuccess;
  }
  if (const auto* error = std::get_if<Error>(&answer)) {
    err.PrintLine(error->message());
    return kUsage;
  }
  Parsed& parsed = std::get<Parsed>(answer);
  if (parsed.subcommand == nullptr) {
    out.Print(ProgramHelp(subcommands));
    return kSuccess;
  }
  const Result<config::Loaded> loaded =
      config::Load(config::ProcessInputs(std::move(parsed.settings)));
  if (!loaded.ok()) {
    err.PrintLine(loaded.error().message());
    return kUsage;
  }
  const log::Logger log = MakeLogger(loaded->settings, err);
  return parsed.subcommand->run(
      {.config = *loaded, .out = out, .err = err, .log = log, .subcommands = subcommands});
}

/// Where whoever started us has closed one of them, what we open next would be taken for it. To
/// read from these is to be at the end, to write to them fails as before.
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
  const polybox::cmd::Terminal out(stdout);
  const int code = polybox::cmd::Main(argc, argv, out);
  if (out.Flush()) return code;
  const polybox::Error error = polybox::Error::FromErrno("polybox: write the output");
  polybox::cmd::Terminal(stderr).PrintLine(error.message());
  return polybox::cmd::kFailure;
}

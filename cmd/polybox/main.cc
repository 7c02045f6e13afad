// polybox: the program. Reads the command line, brings the settings together and runs one
// subcommand.
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/nearest.h"
#include "command.h"
#include "config/flags.h"
#include "config/load.h"

namespace polybox::cmd {
namespace {

std::vector<Subcommand> AllSubcommands() {
  return {DoctorCommand(),     LanguagesCommand(), PreinstallCommand(), ConfigCommand(),
          CompletionCommand(), VersionCommand(),   DocsCommand()};
}

/// Long names of all flags and subcommands that could stand where `app` was being read.
std::vector<std::string> KnownWords(const CLI::App& app) {
  std::vector<const CLI::App*> levels = {&app};
  for (const CLI::App* chosen : app.get_subcommands()) levels.push_back(chosen);
  std::vector<std::string> words;
  for (const CLI::App* level : levels) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
    for (const CLI::App* sub : level->get_subcommands(nullptr)) {
      if (!sub->get_group().empty()) words.push_back(sub->get_name());
    }
  }
  return words;
}

std::string ExplainUnexpected(const CLI::App& app) {
  for (const std::string& word : app.remaining(true)) {
    const std::vector<std::string> known = KnownWords(app);
    const std::string name = word.substr(0, word.find('='));
    const char* kind = name.starts_with("-")           ? "flag"
                       : app.get_subcommands().empty() ? "command"
                                                       : "argument";
    return fmt::format("unknown {} {}{}", kind, name,
                       DidYouMean(name, {known.begin(), known.end()}));
  }
  return "";
}

/// Prints help or what was wrong with the command line.
int AnswerParseError(const CLI::App& app, const CLI::ParseError& error, const Terminal& err) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  const std::string unexpected = ExplainUnexpected(app);
  err.PrintLine(fmt::format("polybox: {}", unexpected.empty() ? error.what() : unexpected));
  const std::string command =
      app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ";
  err.PrintLine(fmt::format("Try: polybox {}--help", command));
  return kUsage;
}

int Main(int argc, char** argv) {
  const Terminal out(stdout);
  const Terminal err(stderr);
  CLI::App app("A safe, fast place to run and verify code in any language.", "polybox");
  app.fallthrough();
  std::vector<std::pair<std::string, std::string>> flags;
  config::AddFlags(app, config::Scope::kEverywhere, flags);
  const std::vector<Subcommand> subcommands = AllSubcommands();
  const Subcommand* chosen = nullptr;
  for (const Subcommand& subcommand : subcommands) {
    CLI::App* sub = app.add_subcommand(subcommand.name, subcommand.doc);
    if (subcommand.add_flags) subcommand.add_flags(*sub);
    sub->callback([&chosen, &subcommand] { chosen = &subcommand; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return AnswerParseError(app, error, err);
  }
  if (chosen == nullptr) {
    out.Print(app.help());
    return kSuccess;
  }
  const Result<config::Loaded> loaded = config::Load(config::ProcessInputs(std::move(flags)));
  if (!loaded.ok()) {
    err.PrintLine(loaded.error().message());
    return kUsage;
  }
  return chosen->run({.config = *loaded, .out = out, .err = err, .app = app});
}

}  // namespace
}  // namespace polybox::cmd

int main(int argc, char** argv) {
  return polybox::cmd::Main(argc, argv);
}

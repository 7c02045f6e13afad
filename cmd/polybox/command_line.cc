#include "command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "config/settings.h"

namespace polybox::cmd {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

/// Adds the flag of a setting. The value stays text, because the settings loader parses the text of
/// every source.
CLI::Option* AddSetting(CLI::App& app, const config::Setting& setting, Given& given) {
  static const config::Settings kDefaults;
  const std::string shown = setting.default_doc.empty() ? config::ShowValue(kDefaults, setting)
                                                        : std::string(setting.default_doc);
  std::string doc(setting.doc);
  if (!shown.empty()) doc += fmt::format(" [{}]", shown);
  const std::string name = fmt::format("--{}", setting.key);
  const auto take = [&given, key = std::string(setting.key)](const std::string& value) {
    given.emplace_back(key, value);
  };
  if (std::holds_alternative<bool config::Settings::*>(setting.member)) {
    // "--insecure" alone, or "--insecure=false". The text is const so that the library takes it for
    // the description; a non-const text would be the target of the value.
    return app.add_flag(name, std::as_const(doc))
        ->each(take)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [take](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(value);
          },
          doc)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name(config::ValueForm(setting));
}

std::string GroupOf(config::Scope scope) {
  switch (scope) {
    case config::Scope::kEverywhere:
      return "Settings";
    case config::Scope::kServer:
      return "Settings of the server";
    case config::Scope::kAgents:
      return "Settings of the tools";
  }
  return "";
}

void AddSettings(CLI::App& app, config::Scope scope, Given& given) {
  for (const config::Setting& setting : config::AllSettings()) {
    if (setting.scope != scope) continue;
    AddSetting(app, setting, given)->group(GroupOf(scope));
  }
}

struct AddOption {
  CLI::App& app;
  const Option& option;

  CLI::Option* operator()(const std::shared_ptr<bool>& into) const {
    return app.add_flag(option.name, *into, option.doc);
  }
  CLI::Option* operator()(const std::shared_ptr<std::vector<std::string>>& into) const {
    CLI::Option* added = app.add_option(option.name, *into, option.doc);
    // Exactly one value per flag, or the flag would also take the words that follow.
    if (option.name.starts_with("-")) added->expected(1)->allow_extra_args(false);
    return added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  CLI::Option* operator()(const std::shared_ptr<std::string>& into) const {
    return app.add_option(option.name, *into, option.doc);
  }
};

/// Returns what is wrong with the words of the chosen subcommand; "" when nothing is.
std::string CheckWords(const Subcommand& subcommand) {
  for (const Option& option : subcommand.options) {
    const auto* into = std::get_if<std::shared_ptr<std::string>>(&option.into);
    const auto* list = std::get_if<std::shared_ptr<std::vector<std::string>>>(&option.into);
    if (list != nullptr && option.required && (*list)->empty()) {
      return fmt::format("missing {}", option.name);
    }
    if (into == nullptr) continue;
    const std::string& value = **into;
    const std::string allowed = fmt::format("{}", fmt::join(option.choices, ", "));
    if (value.empty() && option.required) {
      return allowed.empty() ? fmt::format("missing {}", option.name)
                             : fmt::format("missing {}: one of {}", option.name, allowed);
    }
    if (!value.empty() && !option.choices.empty() &&
        std::ranges::count(option.choices, value) == 0) {
      return fmt::format("{} \"{}\": expected one of {}", option.name, Printable(value, 80),
                         allowed);
    }
  }
  return "";
}

UsageError BadWords(const Subcommand& subcommand, const std::string& complaint) {
  return {"polybox " + subcommand.name,
          Error(ErrorKind::kInvalid, complaint).WithFix("polybox " + subcommand.name + " --help")};
}

/// Gives the words after `--` to the option that takes them. Returns what is wrong, or "".
std::string TakeRest(const Subcommand& subcommand, const std::vector<std::string>& rest) {
  for (const Option& option : subcommand.options) {
    const auto* list = std::get_if<std::shared_ptr<std::vector<std::string>>>(&option.into);
    if (list == nullptr || !option.after_dashes) continue;
    **list = rest;
    return "";
  }
  return rest.empty() ? "" : fmt::format("unexpected \"{}\" after --", Printable(rest[0], 80));
}

/// The whole command line as the library's object.
class Program {
 public:
  explicit Program(const std::vector<Subcommand>& subcommands) {
    app_.fallthrough();
    AddSettings(app_, config::Scope::kEverywhere, parsed_.settings);
    for (const Subcommand& subcommand : subcommands) AddSubcommand(subcommand);
  }

  CLI::App& app() { return app_; }
  Parsed TakeParsed() { return std::move(parsed_); }

  /// Returns what is wrong, with the most similar valid word.
  UsageError Explain(const CLI::ParseError& error) const {
    const std::vector<CLI::App*> chosen = app_.get_subcommands();
    const std::string command = chosen.empty() ? "" : chosen[0]->get_name() + " ";
    const std::string unexpected = ExplainUnexpected();
    return {"polybox", Error(ErrorKind::kInvalid, unexpected.empty() ? error.what() : unexpected)
                           .WithFix(fmt::format("polybox {}--help", command))};
  }

  /// Returns the same for a missing word.
  UsageError ExplainMissing(const CLI::ParseError& error,
                            const std::vector<Subcommand>& subcommands) const {
    for (const CLI::App* chosen : app_.get_subcommands()) {
      const auto found = std::ranges::find(subcommands, chosen->get_name(), &Subcommand::name);
      const std::string complaint = CheckWords(*found);
      if (!complaint.empty()) return BadWords(*found, complaint);
    }
    return Explain(error);
  }

 private:
  void AddSubcommand(const Subcommand& subcommand) {
    CLI::App* sub = app_.add_subcommand(subcommand.name, subcommand.doc);
    sub->footer(subcommand.note);
    for (const Option& option : subcommand.options) {
      if (option.after_dashes) continue;
      CLI::Option* added = std::visit(AddOption{*sub, option}, option.into);
      // This also tells the library that the word is this option and not another subcommand.
      if (option.required) added->required();
      if (option.hidden) added->group("");
      if (!option.choices.empty())
        added->type_name(fmt::format("{}", fmt::join(option.choices, "|")));
    }
    if (subcommand.takes_server_settings)
      AddSettings(*sub, config::Scope::kServer, parsed_.settings);
    if (subcommand.takes_agent_settings)
      AddSettings(*sub, config::Scope::kAgents, parsed_.settings);
    if (subcommand.hidden) sub->group("");
    sub->callback([this, &subcommand] { parsed_.subcommand = &subcommand; });
  }

  /// Returns every flag and command that would be valid instead of the unknown word.
  std::vector<std::string> KnownWords() const {
    std::vector<const CLI::App*> levels = {&app_};
    for (const CLI::App* chosen : app_.get_subcommands()) levels.push_back(chosen);
    std::vector<std::string> words;
    for (const CLI::App* level : levels) {
      for (const CLI::Option* option : level->get_options()) {
        if (option->get_group().empty()) continue;
        for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
      }
      for (const CLI::App* sub : level->get_subcommands(nullptr)) {
        if (!sub->get_group().empty()) words.push_back(sub->get_name());
      }
    }
    return words;
  }

  std::string ExplainUnexpected() const {
    const std::vector<std::string> remaining = app_.remaining(true);
    if (remaining.empty()) return "";
    const std::string name = remaining[0].substr(0, remaining[0].find('='));
    const char* kind = name.starts_with("-")            ? "flag"
                       : app_.get_subcommands().empty() ? "command"
                                                        : "argument";
    const std::vector<std::string> known = KnownWords();
    // The word itself is known when it stands before the subcommand that takes it.
    if (!app_.get_subcommands().empty() && std::ranges::count(known, name) != 0) {
      const std::string command = app_.get_subcommands().front()->get_name();
      return fmt::format("{} belongs after the command: polybox {} {}", name, command, name);
    }
    return fmt::format("unknown {} {}{}", kind, name,
                       DidYouMean(name, {known.begin(), known.end()}));
  }

  CLI::App app_{"A safe, fast place to run and verify code in any language.", "polybox"};
  Parsed parsed_;
};

struct Words {
  /// The words for the library, in reverse order.
  std::vector<std::string> ours;
  /// The words after `--`, which belong to the program that polybox runs.
  std::vector<std::string> rest;
};

/// Splits the command line. `polybox help languages` becomes `polybox languages --help`.
Words WordsOf(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> rest;
  if (const auto dashes = std::ranges::find(words, "--"); dashes != words.end()) {
    rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (!words.empty() && words[0] == "--version") words[0] = "version";
  std::ranges::reverse(words);
  return {std::move(words), std::move(rest)};
}

}  // namespace

std::string UsageError::Text() const {
  return fmt::format("{}: {}\nTry: {}", program, error.message(), error.fix());
}

std::variant<Parsed, HelpText, UsageError> ParseCommandLine(
    int argc, char** argv, const std::vector<Subcommand>& subcommands) {
  Program program(subcommands);
  Words words = WordsOf(argc, argv);
  try {
    program.app().parse(std::move(words.ours));
  } catch (const CLI::CallForHelp&) {
    return HelpText{program.app().help()};
  } catch (const CLI::RequiredError& error) {
    return program.ExplainMissing(error, subcommands);
  } catch (const CLI::ParseError& error) {
    return program.Explain(error);
  }
  Parsed parsed = program.TakeParsed();
  if (parsed.subcommand == nullptr) return parsed;
  std::string complaint = TakeRest(*parsed.subcommand, words.rest);
  if (complaint.empty()) complaint = CheckWords(*parsed.subcommand);
  if (complaint.empty()) return parsed;
  return BadWords(*parsed.subcommand, complaint);
}

std::string ProgramHelp(const std::vector<Subcommand>& subcommands) {
  return Program(subcommands).app().help();
}

}  // namespace polybox::cmd

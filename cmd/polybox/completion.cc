// polybox completion SHELL: completion scripts for bash, zsh and fish, made from the program's own
// command line.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "config/settings.h"

namespace polybox::cmd {
namespace {

/// A flag as the scripts of all three shells need it.
struct Flag {
  std::string name;
  std::string doc;
  /// The allowed values; if empty, file names are completed.
  std::vector<std::string> words;
  bool takes_value = false;
};

/// A subcommand with its own flags. `arguments` are the words that may stand after it.
struct Node {
  std::string name;
  std::string doc;
  std::vector<Flag> flags;
  std::vector<std::string> arguments;
};

/// Returns about the first sentence, without characters that would need quoting.
std::string Plain(std::string text) {
  text = text.substr(0, text.find(" ["));
  for (char& c : text) {
    if (c == '\'' || c == '"' || c == '`' || c == ':' || c == '$') c = ' ';
  }
  return text;
}

/// Adds the settings of a scope, since each setting is a flag of the same name.
void AppendSettings(std::vector<Flag>& flags, config::Scope scope) {
  for (const config::Setting& setting : config::AllSettings()) {
    if (setting.scope != scope) continue;
    flags.push_back({fmt::format("--{}", setting.key),
                     Plain(std::string(setting.doc)),
                     {setting.choices.begin(), setting.choices.end()},
                     !std::holds_alternative<bool config::Settings::*>(setting.member)});
  }
}

/// Returns the flags of every command: the settings and --help.
std::vector<Flag> CommonFlags() {
  std::vector<Flag> flags = {{"--help", "Print the help", {}, false}};
  AppendSettings(flags, config::Scope::kEverywhere);
  return flags;
}

Node NodeOf(const Subcommand& subcommand) {
  Node node = {subcommand.name, Plain(subcommand.doc), {}, {}};
  for (const Option& option : subcommand.options) {
    if (option.hidden) continue;
    const bool is_switch = std::holds_alternative<std::shared_ptr<bool>>(option.into);
    if (option.name.starts_with("--")) {
      node.flags.push_back({option.name, Plain(option.doc), option.choices, !is_switch});
    } else {
      node.arguments = option.choices;
    }
  }
  if (subcommand.takes_server_settings) AppendSettings(node.flags, config::Scope::kServer);
  if (subcommand.takes_agent_settings) AppendSettings(node.flags, config::Scope::kAgents);
  return node;
}

/// Returns the subcommands that a person may use. Hidden ones are for programs.
std::vector<Node> NodesOf(const std::vector<Subcommand>& subcommands) {
  std::vector<Node> nodes;
  for (const Subcommand& subcommand : subcommands) {
    if (!subcommand.hidden) nodes.push_back(NodeOf(subcommand));
  }
  return nodes;
}

/// Returns the names in a form in which a shell script can split them.
std::string Names(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string Bash(const std::vector<Node>& nodes) {
  const std::vector<Flag> common = CommonFlags();
  std::string values;
  for (const Flag& flag : common) {
    if (!flag.words.empty()) {
      values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            flag.name, fmt::join(flag.words, " "));
    } else if (flag.takes_value) {
      values +=
          fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", flag.name);
    }
  }
  std::string cases;
  for (const Node& node : nodes) {
    cases += fmt::format("    {}) words='{} {} {}' ;;\n", node.name, Names(node.flags),
                         fmt::join(node.arguments, " "), Names(common));
  }
  return fmt::format(R"(# bash completion of polybox: source <(polybox completion bash)
_polybox() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i
  case $previous in
{}  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " {} " in *" ${{COMP_WORDS[i]}} "*) command=${{COMP_WORDS[i]}}; break ;; esac
  done
  case $command in
    '') words='{} {}' ;;
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _polybox polybox
)",
                     values, Names(nodes), Names(nodes), Names(common), cases);
}

std::string ZshFlags(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags) {
    const std::string value = !flag.takes_value ? ""
                              : flag.words.empty()
                                  ? ":value:_files"
                                  : fmt::format(":value:({})", fmt::join(flag.words, " "));
    text += fmt::format(" '{}[{}]{}'", flag.name, flag.doc, value);
  }
  return text;
}

std::string Zsh(const std::vector<Node>& nodes) {
  const std::vector<Flag> common = CommonFlags();
  std::string commands;
  std::string cases;
  for (const Node& node : nodes) {
    commands += fmt::format(" '{}:{}'", node.name, node.doc);
    const std::string arguments =
        node.arguments.empty() ? "" : fmt::format(" ':word:({})'", fmt::join(node.arguments, " "));
    cases += fmt::format("    {}) _arguments{}{}{} ;;\n", node.name, arguments,
                         ZshFlags(node.flags), ZshFlags(common));
  }
  return fmt::format(R"(#compdef polybox
# zsh completion of polybox: polybox completion zsh > a directory of $fpath/_polybox
_polybox() {{
  local line state
  _arguments -C{} '1: :->command' '*:: :->rest'
  case $state in
  command) local -a commands=({}); _describe command commands ;;
  rest) case $line[1] in
{}  esac ;;
  esac
}}
compdef _polybox polybox
)",
                     ZshFlags(common), commands, cases);
}

std::string FishFlag(const Flag& flag, const std::string& condition) {
  const std::string value = !flag.takes_value ? ""
                            : flag.words.empty()
                                ? " -r"
                                : fmt::format(" -x -a '{}'", fmt::join(flag.words, " "));
  return fmt::format("complete -c polybox{} -l {} -d '{}'{}\n", condition, flag.name.substr(2),
                     flag.doc, value);
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string text =
      "# fish completion of polybox: polybox completion fish | source\n"
      "complete -c polybox -f\n";
  for (const Flag& flag : CommonFlags()) text += FishFlag(flag, "");
  for (const Node& node : nodes) {
    const std::string inside = fmt::format(" -n '__fish_seen_subcommand_from {}'", node.name);
    text += fmt::format("complete -c polybox -n __fish_use_subcommand -a {} -d '{}'\n", node.name,
                        node.doc);
    for (const Flag& flag : node.flags) text += FishFlag(flag, inside);
    if (!node.arguments.empty()) {
      text +=
          fmt::format("complete -c polybox{} -a '{}'\n", inside, fmt::join(node.arguments, " "));
    }
  }
  return text;
}

}  // namespace

Subcommand CompletionCommand() {
  const auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .doc = "Print the completion script of a shell: bash, zsh or fish",
          .options = {{.name = "shell",
                       .doc = "bash, zsh or fish",
                       .into = shell,
                       .choices = {"bash", "zsh", "fish"},
                       .required = true}},
          .run = [shell](const Context& context) -> int {
            const auto script = *shell == "bash" ? Bash : *shell == "zsh" ? Zsh : Fish;
            context.out.Print(script(NodesOf(context.subcommands)));
            return kSuccess;
          }};
}

}  // namespace polybox::cmd

// polybox completion SHELL: completion scripts for bash, zsh and fish, made from the program's own
// command line.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "config/settings.h"

namespace polybox::cmd {
namespace {

struct Flag {
  std::string name;
  std::string doc;
  /// Words the value may be; empty: files.
  std::vector<std::string> words;
  bool takes_value = false;
};

struct Node {
  std::string name;
  std::string doc;
  std::vector<Flag> flags;
  std::vector<std::string> arguments;
};

/// The first sentence or so, without what would need quoting.
std::string Plain(std::string text) {
  text = text.substr(0, text.find(" ["));
  for (char& c : text) {
    if (c == '\'' || c == '"' || c == '`' || c == ':' || c == '$') c = ' ';
  }
  return text;
}

std::vector<Flag> FlagsOf(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      Flag flag{.name = "--" + name,
                .doc = Plain(option->get_description()),
                .words = {},
                .takes_value = option->get_items_expected_max() > 0};
      if (const config::Setting* setting = config::FindSetting(name)) {
        flag.words.assign(setting->choices.begin(), setting->choices.end());
      }
      flags.push_back(std::move(flag));
    }
  }
  return flags;
}

std::vector<std::string> ArgumentWords(const std::string& subcommand) {
  if (subcommand == "completion") return {"bash", "zsh", "fish"};
  return {};
}

std::vector<Node> NodesOf(const CLI::App& app) {
  std::vector<Node> nodes;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    if (sub->get_group().empty()) continue;  // not for everyone
    nodes.push_back({sub->get_name(), Plain(sub->get_description()), FlagsOf(*sub),
                     ArgumentWords(sub->get_name())});
  }
  return nodes;
}

std::string Names(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string Bash(const CLI::App& app) {
  const std::vector<Flag> common = FlagsOf(app);
  const std::vector<Node> nodes = NodesOf(app);
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

std::string Zsh(const CLI::App& app) {
  const std::vector<Flag> common = FlagsOf(app);
  std::string commands;
  std::string cases;
  for (const Node& node : NodesOf(app)) {
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

std::string Fish(const CLI::App& app) {
  std::string text =
      "# fish completion of polybox: polybox completion fish | source\n"
      "complete -c polybox -f\n";
  for (const Flag& flag : FlagsOf(app)) text += FishFlag(flag, "");
  for (const Node& node : NodesOf(app)) {
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
          .add_flags =
              [shell](CLI::App& app) {
                app.add_option("shell", *shell, "bash, zsh or fish")
                    ->required()
                    ->check(CLI::IsMember({"bash", "zsh", "fish"}));
              },
          .run = [shell](const Context& context) -> int {
            const auto script = *shell == "bash" ? Bash : *shell == "zsh" ? Zsh : Fish;
            context.out.Print(script(context.app));
            return kSuccess;
          }};
}

}  // namespace polybox::cmd

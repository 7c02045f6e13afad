// Everything that polybox knows about a language, as read from its file. languages/README.md
// documents each key; parse.cc reads them. Plain data: a command is a template whose {placeholders}
// are replaced where the command is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "languages/patterns.h"
#include "limits/limits.h"

namespace polybox::languages {

using Argv = std::vector<std::string>;
using Env = std::map<std::string, std::string>;

/// Limits of a step. limits/table.h declares each of them.
using Limits = limits::StepLimits;

/// The execute dialect's name for the language, and its position in the order in which that dialect
/// looks for a language.
struct Mode {
  std::string name;
  std::int64_t order = 0;
  /// A short program that people can try; "" for none.
  std::string example;
};

/// How to find the toolchain behind shims and proxies. toolchain.cc runs the commands.
struct ToolchainQuestions {
  /// Programs that must be on PATH; the first is {binary}.
  std::vector<std::string> binaries;
  /// Prints the path of the real executable on its first line. `executable` is that path as a
  /// template instead.
  Argv executable_command;
  std::string executable;
  /// Prints the directories that the toolchain needs. Only lines that begin with `roots_after`
  /// count, without that text.
  Argv roots_command;
  std::string roots_after;
  Argv version;
  /// An older version makes the language unavailable.
  std::string minimum_version;
  /// Files without which the language is unavailable.
  std::vector<std::string> requires_files;
  /// What chooses between versions: `$NAME`, or the path of a file. A change makes the cached
  /// answers invalid.
  std::vector<std::string> selectors;
  Env env;
};

/// Which name the entry gets: that of the request's first file, a fixed one, or any, because all
/// files together form the program.
enum class EntryRule { kFirstFile, kFixed, kDirectory };

struct Entry {
  std::string file;
  /// Other names that the entry of a program with several files often has, the likeliest first.
  std::vector<std::string> names = {};
  EntryRule rule = EntryRule::kFirstFile;
};

/// A step of a session: the run step, or (with more members) the compile step.
struct Step {
  Argv command;
  Env env;
  /// More paths of the host that the jail shows.
  std::vector<std::string> read_only;
  /// A command that lists what programs can import beyond the standard library
  /// (packages/importable.h).
  Argv importable = {};
  /// Texts that the runtime writes to standard error when it gets no more memory.
  std::vector<std::string> out_of_memory = {};
  Limits limits;
};

/// Files for a compile step that `command` makes once. Compile steps then see them read-only.
struct Preparation {
  Argv command;
  /// Variables of the compile step when these files exist; they replace its own.
  Env env;
  /// Whether a package set contains these files already.
  bool unless_packages = false;
  Limits limits;
};

struct CompileStep : Step {
  /// The files that it makes in the working directory. Empty: every new file there.
  std::vector<std::string> produces;
  /// A program that contains one of these words compiles to a different result each time.
  std::vector<std::string> changing_words;
  std::optional<Preparation> prepare;
};

/// What differs for a package set that a request asks for.
struct RequestedPackages {
  /// Whether requirements are ignored unless the setting requirements-for names the language.
  bool opt_in = false;
  /// Replaces Packages::install.
  Argv install;
  /// Files of the set that the program gets instead of default files of the same name.
  std::vector<std::string> files;
  /// Replaces Packages::env.
  Env env;
  /// Extra variables when a preinstalled package set is shown beside the requested one; they
  /// replace those in `env`.
  Env preinstalled_env;
};

/// The packages of a language: how they are installed, and which are preinstalled.
struct Packages {
  /// The installer's name, for messages.
  std::string installer;
  /// The programs that the installer needs.
  std::vector<std::string> binaries;
  Argv install;
  /// Arguments that are added to `install` when a setting names an index.
  Argv index_arguments;
  /// A name in the set that appears under the same name in the working directory; "" for none.
  std::string mount;
  /// Packages that are always available, with exact versions.
  std::vector<std::string> preinstalled;
  /// A command that exits with 0 if the toolchain contains the preinstalled packages. Then nothing
  /// is installed.
  Argv provided_check;
  /// Variables of both steps when there is a set; they replace those of the steps.
  Env env;
  /// The notation of requirements in requests (packages/requirement.h); "" if requests cannot ask
  /// for packages.
  std::string requirement_form = {};
  std::optional<RequestedPackages> requests = {};
  /// The environment of the installer in its jail.
  Env install_env = {};
  /// Variables of the server's environment that the installer gets as well. Those in `pass_files`
  /// are paths, which the jail shows to the installer.
  std::vector<std::string> pass_env = {};
  std::vector<std::string> pass_files = {};
  /// A file in the directory above that of the installer's program. If it exists, the jail shows
  /// the installer that whole directory.
  std::string program_marker = {};
  /// Arguments in `install` that keep scripts of package authors from running.
  Argv script_guard = {};
  Limits limits = {};
};

/// The clients of package registries in workspaces of the language, and how to find out which
/// registries they use (registries/registries.h).
struct RegistryClients {
  /// The clients are there if one of these programs is.
  std::vector<std::string> binaries;
  /// A command that prints which registries the clients are configured for, in the notation of
  /// registries/client_answer.h. Runs on the host, as the owner of the workspace.
  Argv ask;
  /// A command that downloads one small package. Runs in a jail of its own. Empty: the answer to
  /// `ask` is complete.
  Argv trial;
  /// More paths of the host that the clients need.
  std::vector<std::string> read_only;
  /// A file in the directory above that of a client's program. If it exists, the jail shows that
  /// whole directory.
  std::string program_marker;
  /// Variables of the server's environment that commands of a workspace get. Those in `pass_files`
  /// are paths, which the jail shows.
  std::vector<std::string> pass_env;
  std::vector<std::string> pass_files;
  /// The limits of `trial`: those of installers.
  Limits limits = {};
};

/// The other language that runs a program which the interpreter refuses to parse. Only for
/// languages without a compile step.
struct Fallback {
  /// The id of the other language.
  std::string language;
  /// How an error report of the interpreter begins, and texts in its report of a refusal. `check`
  /// runs only if the run failed and its only output was such a report.
  std::vector<std::string> begins;
  std::vector<std::string> words;
  /// A command that parses the entry and runs none of it. It exits with kRefused if the entry does
  /// not parse.
  Argv check;
  /// Variables of a request that can make the interpreter run other files before the entry.
  std::vector<std::string> unless_env;

  static constexpr int kRefused = 3;
};

/// How a slot starts interpreters in advance: not at all, by a zygote that forks guests, or one
/// interpreter for each run.
enum class WarmKind { kExec, kZygote, kPrestart };

/// How an interpreter is started before its program arrives.
struct Warm {
  WarmKind kind = WarmKind::kExec;
  /// Modules that the interpreter loads in advance.
  std::vector<std::string> preload;
  /// The command that starts the interpreter. {warm} is the path of `program`; the modules of
  /// `preload` are its last arguments.
  Argv command = {};
  /// A program in the language itself. The interpreter runs it until the guest's program arrives
  /// (warm/warm.h).
  std::string program = {};
  /// A program in the language itself. It loads the module that its argument names, or says in one
  /// line why it cannot and fails. "": modules are not checked.
  std::string preload_check = {};
  /// Beginnings of the names of variables that the interpreter reads only when it starts.
  std::vector<std::string> early_env = {};
};

/// How a script's output becomes readable: a script that begins with `words` and is one plain
/// command takes the arguments `add`, and `parser` then reads what the script writes.
struct ScriptRunner {
  std::vector<std::string> words;
  Argv add;
  std::string parser;
};

/// A verification command and the meaning of its exit codes. Any other code means that the tool
/// itself failed.
struct Verification {
  Argv command;
  std::string script;
  std::vector<std::string> binaries;
  std::string parser;
  std::string report;
  std::vector<int> ok = {0};
  std::vector<int> findings = {1};
  std::vector<int> nothing;
  /// Tests only: the command for the tests that match an expression of the runner, and the command
  /// for tests that are named one by one. Empty if the runner has no such selector.
  Argv filter = {};
  Argv select = {};
  /// Format only: the command that looks at the whole project, and the one that changes files.
  Argv project = {};
  Argv apply = {};
  std::vector<ScriptRunner> runners = {};
  /// For the parser `regex`.
  std::optional<Patterns> patterns = {};
};

/// How projects in the language are recognised and verified.
struct Verify {
  std::int64_t order = 0;
  /// Files in the root of a workspace by which a project is recognised.
  std::vector<std::string> markers;
  /// Files that count only if no language has a marker there, or if the caller names this language:
  /// projects in other languages have such files too.
  std::vector<std::string> weak_markers;
  /// Extensions of more files that the tools of this language check: those of its other languages.
  std::vector<std::string> extensions;
  /// A file of the project and the word in it that comes before the name by which the project's
  /// sources call its root; empty if they have no such name.
  std::vector<std::string> module;
  /// Directories of the workspace that are searched for programs before PATH.
  std::vector<std::string> path;
  std::optional<Verification> test;
  std::optional<Verification> lint;
  std::optional<Verification> typecheck;
  std::optional<Verification> format;
  std::optional<Verification> coverage;
};

/// A package manager that can run scripts of a project.
struct PackageManager {
  std::string name;
  std::vector<std::string> locks;
  Argv run;
  /// Words between the name of a script and arguments for it.
  Argv pass;
};

/// Where a project defines scripts.
struct Scripts {
  std::string manifest;
  std::string table;
  /// The key of the manifest that names the package manager, as in "pnpm@9.1.0"; "" for none.
  std::string manager;
  std::vector<PackageManager> managers;
};

/// The tree-sitter grammar of the language.
struct Grammar {
  std::string package;
  std::string symbol;
};

/// A directory in which a package manager keeps what it has downloaded for all projects of a user.
struct PackageCache {
  std::string name;
  /// Where it is on the host, the first that exists: "~/rest" below the user's home, "$NAME" or
  /// "$NAME/rest" by a variable of polybox.
  std::vector<std::string> sources;
  /// Where package managers look for it without any setting, relative to a home.
  std::string home;
};

/// What commands in a workspace need of the host beyond the toolchain.
struct ProjectNeeds {
  /// More paths that the jail shows; `*` matches within one component.
  std::vector<std::string> read_only;
  std::vector<PackageCache> caches;
};

/// The packages that a container image needs, by package manager.
struct Image {
  std::vector<std::string> apt;
  std::vector<std::string> npm;
  std::vector<std::string> pip;
  std::vector<std::string> go;
};

/// A language. Immutable after it was loaded.
struct Language {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  std::vector<std::string> extensions;
  std::vector<std::string> shebangs;
  std::optional<Mode> mode;
  ToolchainQuestions toolchain;
  Entry entry;
  Step run;
  std::optional<CompileStep> compile;
  std::vector<std::string> restricted_files;
  Env default_files;
  std::optional<Packages> packages;
  std::optional<RegistryClients> registry;
  std::optional<Fallback> fallback;
  Warm warm;
  std::optional<Verify> verify;
  std::optional<Scripts> scripts;
  ProjectNeeds project;
  Argv lsp;
  std::optional<Grammar> grammar;
  Image image;
  /// The text of the whole file. It is part of the key of everything that is made with the
  /// language.
  std::string text;
  /// The path of the file and the lines of two keys in it, for messages.
  std::string file;
  int id_line = 0;
  int aliases_line = 0;
};

/// Returns what polybox can do with programs of the language: run, compile, packages (on request),
/// preinstalled (packages), fallback, warm, in this order.
std::vector<std::string_view> Capabilities(const Language& language);
/// Returns what the language file says about projects: test, lint, typecheck, format, coverage,
/// lsp, ast, in this order.
std::vector<std::string_view> Described(const Language& language);

}  // namespace polybox::languages

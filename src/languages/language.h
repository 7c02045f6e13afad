// Everything polybox knows about a language, as read from its file (languages/README.md documents
// each key; parse.cc reads them). Plain data: commands are templates whose {placeholders} are
// filled in where they are used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace polybox::languages {

using Argv = std::vector<std::string>;
using Env = std::map<std::string, std::string>;

struct Limits {
  Duration wall_time{};
  Duration cpu_time{};
  Bytes memory;
  Bytes swap;
  Bytes address_space;
  Bytes file_size;
  std::int64_t open_files = 0;
  std::int64_t processes = 0;
  Bytes stack;
  /// CPU time the guest may use per second of wall time.
  Duration cpu_per_second{};
  Bytes disk;
  std::int64_t inodes = 0;
  Bytes output;

  bool operator==(const Limits&) const = default;
};

/// The execute dialect's name for the language and its place in that dialect's auto-detection.
struct Mode {
  std::string name;
  std::int64_t order = 0;
  /// A program of a line or so, for people to try; "" for none.
  std::string example;
};

/// How to find the toolchain behind shims and proxies; toolchain.h asks.
struct ToolchainQuestions {
  std::vector<std::string> binaries;
  Argv executable_command;
  std::string executable;
  Argv roots_command;
  std::string roots_after;
  Argv version;
  std::string minimum_version;
  std::vector<std::string> requires_files;
  std::vector<std::string> selectors;
  Env env;
};

enum class EntryRule { kFirstFile, kFixed, kDirectory };

struct Entry {
  std::string file;
  EntryRule rule = EntryRule::kFirstFile;
};

struct Step {
  Argv command;
  Env env;
  std::vector<std::string> read_only;
  Limits limits;
};

/// What a compile step finds ready: made once by `command`, then shown read-only.
struct Preparation {
  Argv command;
  /// For the compile step where it is ready; wins over its own.
  Env env;
  /// A package set brings it already.
  bool unless_packages = false;
  Limits limits;
};

struct CompileStep : Step {
  /// What it makes in the working directory; empty: whatever is new there.
  std::vector<std::string> produces;
  /// A program with one of these compiles to something else the next time.
  std::vector<std::string> changing_words;
  std::optional<Preparation> prepare;
};

/// What is different about a set that a request asks for.
struct RequestedPackages {
  /// They are ignored unless a setting names the language.
  bool opt_in = false;
  /// In place of the other one.
  Argv install;
  /// Files of the set that the program gets in place of the default ones of the same name.
  std::vector<std::string> files;
  /// In place of the other one.
  Env env;
  /// Over that where there is a preinstalled set as well, which is shown too.
  Env preinstalled_env;
};

struct Packages {
  std::string installer;
  std::vector<std::string> binaries;
  Argv install;
  /// Added to `install` when a setting names an index.
  Argv index_arguments;
  std::string mount;
  std::vector<std::string> preinstalled;
  Argv provided_check;
  /// For both steps when there is a set; wins over theirs.
  Env env;
  /// How a requirement of a request is written (exec/requirement.h); "": requests bring none.
  std::string requirement_form = {};
  std::optional<RequestedPackages> requests = {};
  /// Of the installer in its jail.
  Env install_env = {};
  /// Variables of our own environment that the installer gets as well; the second kind are paths,
  /// which it is shown.
  std::vector<std::string> pass_env = {};
  std::vector<std::string> pass_files = {};
  /// A file in the directory above the installer's program that says that it belongs to it; then
  /// the installer is shown all of that directory.
  std::string program_marker = {};
  /// Words of `install` that keep package authors' scripts from running.
  Argv script_guard = {};
  Limits limits = {};
};

enum class WarmKind { kExec, kZygote, kPrestart };

struct Warm {
  WarmKind kind = WarmKind::kExec;
  std::vector<std::string> preload;
  /// Starts the interpreter ahead; {warm} is `program`, and the preloads are its last arguments.
  Argv command = {};
  /// In the language itself: what it does until there is a program (jail/warm/warm.h).
  std::string program = {};
  /// In the language itself: loads the module that its argument names, or says in one line why not
  /// and fails; "": nobody asks.
  std::string preload_check = {};
  /// Beginnings of names of variables that an interpreter looks at once, when it starts.
  std::vector<std::string> early_env = {};
};

/// One verification command and what its exit codes mean; any other code is the tool's own failure.
struct Verification {
  Argv command;
  std::string script;
  std::vector<std::string> binaries;
  std::string parser;
  std::string report;
  std::vector<int> ok = {0};
  std::vector<int> findings = {1};
  std::vector<int> nothing;
};

struct Verify {
  std::int64_t order = 0;
  std::vector<std::string> markers;
  /// Directories of the workspace whose programs come before PATH's.
  std::vector<std::string> path;
  std::optional<Verification> test;
  std::optional<Verification> lint;
  std::optional<Verification> typecheck;
  std::optional<Verification> format;
  std::optional<Verification> coverage;
};

struct PackageManager {
  std::string name;
  std::vector<std::string> locks;
  Argv run;
};

struct Scripts {
  std::string manifest;
  std::string table;
  std::vector<PackageManager> managers;
};

struct Grammar {
  std::string package;
  std::string symbol;
};

/// What an image layer needs, by package manager.
struct Image {
  std::vector<std::string> apt;
  std::vector<std::string> npm;
  std::vector<std::string> pip;
  std::vector<std::string> go;
};

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
  Warm warm;
  std::optional<Verify> verify;
  std::optional<Scripts> scripts;
  Argv lsp;
  std::optional<Grammar> grammar;
  Image image;
  /// The whole file: part of the name of everything that is made with it.
  std::string text;
  /// Where it was read from, and the lines of two keys there, for messages.
  std::string file;
  int id_line = 0;
  int aliases_line = 0;
};

/// The words of `polybox languages`: run, compile, packages (on request), preinstalled
/// (ones), warm, test, ... in a fixed order.
std::vector<std::string_view> Capabilities(const Language& language);

}  // namespace polybox::languages

#include "languages/parse.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "languages/patterns.h"
#include "languages/placeholders.h"
#include "limits/table.h"
#include "schema/reader.h"

namespace polybox::languages {
namespace {

using schema::Check;
using schema::Need;
using schema::OneOf;
using schema::Reader;

using Complaint = std::optional<std::string>;

Complaint CheckName(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+';
  };
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z' && std::ranges::all_of(name, allowed)) {
    return std::nullopt;
  }
  return "expected a lower-case name: a letter, then letters, digits, - or +";
}

Complaint CheckDebianPackage(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
  };
  if (name.size() > 1 && name[0] != '-' && std::ranges::all_of(name, allowed)) return std::nullopt;
  return "expected the name of a Debian package";
}

Complaint CheckVersion(const std::string& version) {
  const bool digits =
      std::ranges::all_of(version, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (digits && !version.empty() && version.front() != '.' && version.back() != '.') {
    return std::nullopt;
  }
  return "expected a version such as \"1.85\"";
}

Complaint CheckRelative(const std::string& path) {
  const bool inside = ("/" + path + "/").find("/../") == std::string::npos;
  if (!path.empty() && path[0] != '/' && inside) return std::nullopt;
  return "expected a path inside the workspace";
}

Complaint CheckExtension(const std::string& extension) {
  if (extension.size() > 1 && extension[0] == '.') return std::nullopt;
  return "expected an extension with its dot, such as \".py\"";
}

Complaint CheckNotEmpty(const std::string& text) {
  return text.empty() ? Complaint("expected a string that is not empty") : std::nullopt;
}

Complaint CheckFileName(const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  return plain ? std::nullopt : Complaint("expected a plain file name");
}

Complaint CheckAbsolute(const std::string& path) {
  const bool dotted = (path + "/").find("/../") != std::string::npos;
  if (!path.empty() && path[0] == '/' && !dotted) return std::nullopt;
  return "expected an absolute path";
}

Complaint CheckHostPath(const std::string& path) {
  if (path.starts_with("~/") || (path.starts_with('$') && path.size() > 1)) return std::nullopt;
  return "must begin with ~/ or with $ and the name of a variable";
}

Complaint CheckTemplate(const std::string& text) {
  const auto unknown = UnknownPlaceholder(text);
  if (!unknown) return std::nullopt;
  return fmt::format("no placeholder {{{}}}{}", *unknown, DidYouMean(*unknown, PlaceholderNames()));
}

Complaint CheckPositive(const std::int64_t& number) {
  return number > 0 ? std::nullopt : Complaint("expected a whole number above 0");
}

/// Reads a command, whose words are templates.
void ReadCommand(Reader& reader, std::string_view key, Argv& out, Need need) {
  reader.ReadSome(key, out, need, CheckTemplate);
}

/// Reads one limit into `out`.
void ReadLimit(Reader& reader, const limits::Limit& limit, Limits& out, Need need) {
  limits::VisitValue(limit, out, [&]<typename T>(T& value) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      reader.Read(limit.key, value, need, CheckPositive);
    } else {
      reader.Read(limit.key, value, need);
    }
  });
}

/// Reads limits. `analysed` says whether the limits that depend on the language itself (address
/// space, files, processes) must be given.
void ReadLimits(Reader& reader, Limits& out, Need analysed) {
  for (const limits::Limit& limit : limits::kLimits) {
    const bool by_each = limit.given == limits::Given::kByEachLanguage;
    ReadLimit(reader, limit, out, by_each ? analysed : Need::kOptional);
  }
  // No program could run with 0 of most things.
  for (const limits::Limit& limit : limits::kLimits) {
    if (limit.zero == limits::Zero::kAllowed || limit.unit() == limits::Unit::kCount) continue;
    limits::VisitValue(limit, out, [&]<typename T>(T& value) {
      if (value == T{} && reader.Has(limit.key)) {
        reader.Conflict(limit.key, "expected more than nothing");
      }
    });
  }
}

/// Reads the keys that the run step and the compile step have in common.
void ReadStep(Reader& reader, Step& out) {
  ReadCommand(reader, "command", out.command, Need::kRequired);
  reader.Read("env", out.env, CheckTemplate);
  reader.Read("read_only", out.read_only, Need::kOptional, CheckAbsolute);
  ReadCommand(reader, "importable", out.importable, Need::kOptional);
  reader.Read("out_of_memory", out.out_of_memory, Need::kOptional, CheckNotEmpty);
  Reader limits = reader.Sub("limits", Need::kRequired);
  ReadLimits(limits, out.limits, Need::kRequired);
}

void ReadMode(Reader& parent, std::optional<Mode>& out) {
  Reader reader = parent.Sub("mode");
  Mode mode;
  reader.Read("name", mode.name, Need::kRequired, CheckName);
  reader.Read("order", mode.order, Need::kRequired, CheckPositive);
  reader.Read("example", mode.example);
  // Every table is read even if the file lacks it, because LanguageFileKeys() collects the keys
  // from these calls.
  if (reader.present()) out = std::move(mode);
}

void ReadToolchain(Reader& parent, ToolchainQuestions& out) {
  Reader reader = parent.Sub("toolchain", Need::kRequired);
  reader.ReadSome("binaries", out.binaries, Need::kRequired, CheckFileName);
  ReadCommand(reader, "executable_command", out.executable_command, Need::kOptional);
  reader.Read("executable", out.executable, Need::kOptional, CheckTemplate);
  ReadCommand(reader, "roots_command", out.roots_command, Need::kOptional);
  reader.Read("roots_after", out.roots_after);
  ReadCommand(reader, "version", out.version, Need::kRequired);
  reader.Read("minimum_version", out.minimum_version, Need::kOptional, CheckVersion);
  reader.Read("requires", out.requires_files, Need::kOptional, CheckTemplate);
  reader.Read("selectors", out.selectors, Need::kOptional, CheckNotEmpty);
  reader.Read("env", out.env);
  if (!out.executable.empty() && !out.executable_command.empty()) {
    reader.Conflict("executable", "give this or executable_command, not both");
  }
  if (!out.roots_after.empty() && out.roots_command.empty()) {
    reader.Conflict("roots_after", "needs roots_command");
  }
}

void ReadEntry(Reader& parent, Entry& out) {
  Reader reader = parent.Sub("entry", Need::kRequired);
  reader.Read("file", out.file, Need::kRequired, CheckFileName);
  reader.Read("names", out.names, Need::kOptional, CheckFileName);
  std::string rule = "first-file";
  reader.Read("rule", rule, Need::kOptional, OneOf({"first-file", "fixed", "directory"}));
  if (rule == "fixed") out.rule = EntryRule::kFixed;
  if (rule == "directory") out.rule = EntryRule::kDirectory;
}

void ReadPreparation(Reader& parent, std::optional<Preparation>& out, const Limits& defaults) {
  Reader reader = parent.Sub("prepare");
  Preparation preparation;
  preparation.limits = defaults;
  ReadCommand(reader, "command", preparation.command, Need::kRequired);
  reader.Read("env", preparation.env, CheckTemplate);
  reader.Read("unless_packages", preparation.unless_packages);
  Reader limits = reader.Sub("limits");
  ReadLimits(limits, preparation.limits, Need::kOptional);
  if (reader.present()) out = std::move(preparation);
}

void ReadCompile(Reader& parent, std::optional<CompileStep>& out, const Limits& defaults) {
  Reader reader = parent.Sub("compile");
  CompileStep step;
  step.limits = defaults;
  ReadStep(reader, step);
  reader.Read("produces", step.produces, Need::kOptional, CheckTemplate);
  reader.Read("changing_words", step.changing_words, Need::kOptional, CheckNotEmpty);
  ReadPreparation(reader, step.prepare, defaults);
  if (reader.present()) out = std::move(step);
}

void ReadFiles(Reader& parent, Language& out) {
  Reader reader = parent.Sub("files");
  reader.Read("restricted", out.restricted_files, Need::kOptional, CheckFileName);
  reader.Read("defaults", out.default_files);
  for (const auto& [name, content] : out.default_files) {
    if (CheckFileName(name))
      reader.Conflict("defaults", fmt::format("\"{}\" is no file name", name));
  }
}

/// Reports an install command that lacks a placeholder without which it cannot work.
void CheckInstall(Reader& reader, const Argv& install) {
  for (const char* needed : {"{requirements}", "{target}"}) {
    const bool used = std::ranges::any_of(
        install, [&](const std::string& word) { return word.find(needed) != std::string::npos; });
    if (!used && !install.empty()) {
      reader.Conflict("install", fmt::format("does not use {}", needed));
    }
  }
}

/// Reads [packages.requests]. Its keys replace those of [packages] when a request asks for
/// packages.
void ReadRequested(Reader& parent, Packages& packages) {
  Reader reader = parent.Sub("requests");
  RequestedPackages requests;
  reader.Read("opt_in", requests.opt_in);
  ReadCommand(reader, "install", requests.install, Need::kRequired);
  reader.Read("files", requests.files, Need::kOptional, CheckFileName);
  reader.Read("env", requests.env, CheckTemplate);
  reader.Read("preinstalled_env", requests.preinstalled_env, CheckTemplate);
  if (!reader.present()) return;
  CheckInstall(reader, requests.install);
  if (packages.requirement_form.empty()) {
    parent.Conflict("requests", "needs requirement_form");
  }
  packages.requests = std::move(requests);
}

/// Reads what an installer gets in its jail.
void ReadInstalling(Reader& reader, Packages& packages) {
  reader.Read("requirement_form", packages.requirement_form, Need::kOptional,
              OneOf({"pep508", "npm", "go"}));
  reader.Read("install_env", packages.install_env, CheckTemplate);
  reader.Read("pass_env", packages.pass_env, Need::kOptional, CheckNotEmpty);
  reader.Read("pass_files", packages.pass_files, Need::kOptional, CheckNotEmpty);
  reader.Read("program_marker", packages.program_marker, Need::kOptional, CheckFileName);
  reader.Read("script_guard", packages.script_guard, Need::kOptional, CheckNotEmpty);
  Reader limits = reader.Sub("limits");
  ReadLimits(limits, packages.limits, Need::kOptional);
  for (const std::string& word : packages.script_guard) {
    if (std::ranges::count(packages.install, word) == 0) {
      reader.Conflict("script_guard", fmt::format("\"{}\" is no word of `install`", word));
    }
  }
}

void ReadPackages(Reader& parent, std::optional<Packages>& out, const Limits& defaults) {
  Reader reader = parent.Sub("packages");
  Packages packages;
  packages.limits = defaults;
  reader.Read("installer", packages.installer, Need::kRequired, CheckName);
  reader.ReadSome("binaries", packages.binaries, Need::kRequired, CheckFileName);
  ReadCommand(reader, "install", packages.install, Need::kRequired);
  ReadCommand(reader, "index_arguments", packages.index_arguments, Need::kOptional);
  reader.Read("mount", packages.mount, Need::kOptional, CheckFileName);
  reader.Read("preinstalled", packages.preinstalled, Need::kOptional, CheckNotEmpty);
  ReadCommand(reader, "provided_check", packages.provided_check, Need::kOptional);
  reader.Read("env", packages.env, CheckTemplate);
  ReadInstalling(reader, packages);
  ReadRequested(reader, packages);
  if (!reader.present()) return;
  CheckInstall(reader, packages.install);
  out = std::move(packages);
}

void ReadRegistry(Reader& parent, std::optional<RegistryClients>& out, const Limits& defaults) {
  Reader reader = parent.Sub("registry");
  RegistryClients clients;
  clients.limits = defaults;
  reader.ReadSome("binaries", clients.binaries, Need::kRequired, CheckFileName);
  ReadCommand(reader, "ask", clients.ask, Need::kRequired);
  ReadCommand(reader, "trial", clients.trial, Need::kOptional);
  reader.Read("read_only", clients.read_only, Need::kOptional, CheckAbsolute);
  reader.Read("program_marker", clients.program_marker, Need::kOptional, CheckRelative);
  reader.Read("pass_env", clients.pass_env, Need::kOptional, CheckNotEmpty);
  reader.Read("pass_files", clients.pass_files, Need::kOptional, CheckNotEmpty);
  if (reader.present()) out = std::move(clients);
}

/// Reads the fallback. The compile step must have been read before, because a language with one has
/// no fallback.
void ReadFallback(Reader& parent, Language& out) {
  Reader reader = parent.Sub("fallback");
  Fallback fallback;
  reader.Read("language", fallback.language, Need::kRequired, CheckName);
  ReadCommand(reader, "begins", fallback.begins, Need::kRequired);
  reader.ReadSome("words", fallback.words, Need::kRequired, CheckNotEmpty);
  ReadCommand(reader, "check", fallback.check, Need::kRequired);
  reader.Read("unless_env", fallback.unless_env, Need::kOptional, CheckNotEmpty);
  if (!reader.present()) return;
  if (out.compile) reader.Conflict("check", "a language with a compile step has no fallback");
  out.fallback = std::move(fallback);
}

void ReadWarm(Reader& parent, Warm& out) {
  Reader reader = parent.Sub("warm");
  std::string kind = "exec";
  reader.Read("kind", kind, Need::kOptional, OneOf({"exec", "zygote", "prestart"}));
  if (kind == "zygote") out.kind = WarmKind::kZygote;
  if (kind == "prestart") out.kind = WarmKind::kPrestart;
  reader.Read("preload", out.preload, Need::kOptional, CheckNotEmpty);
  // Only the other kinds start an interpreter in advance.
  const Need need = out.kind == WarmKind::kExec ? Need::kOptional : Need::kRequired;
  ReadCommand(reader, "command", out.command, need);
  reader.Read("program", out.program, need, CheckNotEmpty);
  reader.Read("preload_check", out.preload_check, Need::kOptional, CheckNotEmpty);
  reader.Read("early_env", out.early_env, Need::kOptional, CheckNotEmpty);
}

/// Reads how scripts are made to write what a parser reads.
void ReadRunners(Reader& reader, std::vector<ScriptRunner>& out) {
  for (Reader& row : reader.SubList("runners")) {
    ScriptRunner runner;
    row.ReadSome("words", runner.words, Need::kRequired, CheckNotEmpty);
    ReadCommand(row, "add", runner.add, Need::kRequired);
    row.Read("parser", runner.parser, Need::kRequired, OneOf(ParserNames()));
    out.push_back(std::move(runner));
  }
}

/// Reads one verification command. Without `binaries`, the command's first word is the program that
/// it needs.
void ReadVerification(Reader& parent, std::string_view key, std::optional<Verification>& out) {
  Reader reader = parent.Sub(key);
  Verification verification;
  ReadCommand(reader, "command", verification.command, Need::kRequired);
  reader.Read("script", verification.script, Need::kOptional, CheckNotEmpty);
  reader.Read("binaries", verification.binaries, Need::kOptional, CheckFileName);
  reader.Read("parser", verification.parser, Need::kRequired, OneOf(ParserNames()));
  reader.Read("report", verification.report, Need::kOptional, CheckTemplate);
  reader.Read("ok", verification.ok);
  reader.Read("findings", verification.findings);
  reader.Read("nothing", verification.nothing);
  ReadCommand(reader, "filter", verification.filter, Need::kOptional);
  ReadCommand(reader, "select", verification.select, Need::kOptional);
  ReadCommand(reader, "project", verification.project, Need::kOptional);
  ReadCommand(reader, "apply", verification.apply, Need::kOptional);
  ReadRunners(reader, verification.runners);
  ReadPatterns(reader, verification.parser, verification.patterns);
  if (!reader.present()) return;
  if (verification.binaries.empty() && !verification.command.empty()) {
    verification.binaries = {verification.command[0]};
  }
  for (const int code : verification.ok) {
    if (std::ranges::count(verification.findings, code) != 0) {
      reader.Conflict("findings", fmt::format("exit code {} is in `ok` too", code));
    }
  }
  out = std::move(verification);
}

void ReadVerify(Reader& parent, std::optional<Verify>& out) {
  Reader reader = parent.Sub("verify");
  Verify verify;
  reader.Read("order", verify.order, Need::kRequired, CheckPositive);
  reader.ReadSome("markers", verify.markers, Need::kRequired, CheckFileName);
  reader.Read("weak_markers", verify.weak_markers, Need::kOptional, CheckFileName);
  reader.Read("extensions", verify.extensions, Need::kOptional, CheckExtension);
  reader.Read("path", verify.path, Need::kOptional, CheckRelative);
  reader.Read("module", verify.module, Need::kOptional, CheckNotEmpty);
  if (!verify.module.empty() && verify.module.size() != 2) {
    reader.Conflict("module", "expected a file and a word");
  }
  ReadVerification(reader, "test", verify.test);
  ReadVerification(reader, "lint", verify.lint);
  ReadVerification(reader, "typecheck", verify.typecheck);
  ReadVerification(reader, "format", verify.format);
  ReadVerification(reader, "coverage", verify.coverage);
  if (reader.present()) out = std::move(verify);
}

/// Reads where a project's scripts are. The last package manager must be the one without a lock
/// file, because it is the default.
void ReadScripts(Reader& parent, std::optional<Scripts>& out) {
  Reader reader = parent.Sub("scripts");
  Scripts scripts;
  reader.Read("manifest", scripts.manifest, Need::kRequired, CheckFileName);
  reader.Read("table", scripts.table, Need::kRequired, CheckNotEmpty);
  reader.Read("manager", scripts.manager, Need::kOptional, CheckNotEmpty);
  for (Reader& row : reader.SubList("managers")) {
    PackageManager manager;
    row.Read("name", manager.name, Need::kRequired, CheckName);
    row.Read("locks", manager.locks, Need::kOptional, CheckFileName);
    ReadCommand(row, "run", manager.run, Need::kRequired);
    ReadCommand(row, "pass", manager.pass, Need::kOptional);
    scripts.managers.push_back(std::move(manager));
  }
  if (!reader.present()) return;
  if (scripts.managers.empty() || !scripts.managers.back().locks.empty()) {
    reader.Conflict("managers",
                    "the last row must have no locks: it is the one without a lock file");
  }
  out = std::move(scripts);
}

/// Reads what commands in a workspace need.
void ReadProject(Reader reader, ProjectNeeds& out) {
  reader.Read("read_only", out.read_only, Need::kOptional, CheckNotEmpty);
  for (Reader& row : reader.SubList("caches")) {
    PackageCache cache;
    row.Read("name", cache.name, Need::kRequired, CheckName);
    row.Read("sources", cache.sources, Need::kRequired, CheckHostPath);
    row.Read("home", cache.home, Need::kRequired, CheckRelative);
    out.caches.push_back(std::move(cache));
  }
}

/// Reads the language server, the grammar and the image.
void ReadTools(Reader& parent, Language& out) {
  Reader lsp = parent.Sub("lsp");
  ReadCommand(lsp, "command", out.lsp, Need::kRequired);
  Reader grammar_reader = parent.Sub("grammar");
  Grammar grammar;
  grammar_reader.Read("package", grammar.package, Need::kRequired, CheckNotEmpty);
  grammar_reader.Read("symbol", grammar.symbol, Need::kRequired, CheckNotEmpty);
  if (grammar_reader.present()) out.grammar = std::move(grammar);
  Reader image = parent.Sub("image", Need::kRequired);
  image.Read("apt", out.image.apt, Need::kRequired, CheckDebianPackage);
  image.Read("npm", out.image.npm, Need::kOptional, CheckNotEmpty);
  image.Read("pip", out.image.pip, Need::kOptional, CheckNotEmpty);
  image.Read("go", out.image.go, Need::kOptional, CheckNotEmpty);
}

/// Reads all keys of a language file. LanguageFileKeys() uses this function too.
void ReadLanguage(Reader& reader, Language& out, const DefaultLimits& defaults) {
  reader.Read("id", out.id, Need::kRequired, CheckName);
  reader.Read("name", out.name, Need::kRequired, CheckNotEmpty);
  reader.Read("aliases", out.aliases, Need::kOptional, CheckName);
  out.id_line = reader.LineOf("id");
  out.aliases_line = reader.LineOf("aliases");
  reader.ReadSome("extensions", out.extensions, Need::kRequired, CheckExtension);
  reader.Read("shebangs", out.shebangs, Need::kOptional, CheckFileName);
  ReadMode(reader, out.mode);
  ReadToolchain(reader, out.toolchain);
  ReadEntry(reader, out.entry);
  {
    out.run.limits = defaults.run;
    Reader run = reader.Sub("run", Need::kRequired);
    ReadStep(run, out.run);
  }
  ReadCompile(reader, out.compile, defaults.compile);
  ReadFiles(reader, out);
  ReadPackages(reader, out.packages, defaults.packages);
  ReadRegistry(reader, out.registry, defaults.packages);
  ReadFallback(reader, out);
  ReadWarm(reader, out.warm);
  ReadVerify(reader, out.verify);
  ReadScripts(reader, out.scripts);
  ReadProject(reader.Sub("project"), out.project);
  ReadTools(reader, out);
}

}  // namespace

const std::vector<std::string_view>& ParserNames() {
  static const std::vector<std::string_view> names = {
      "biome-json",
      "cargo-json",
      "cargo-test",
      "checkstyle-xml",
      "clover-xml",
      "cobertura-xml",
      "coverage-py-json",
      "eslint-json",
      "exit-status",
      "file-line-col",
      "gcovr-json",
      "gnu",
      "go-cover",
      "go-test-json",
      "go-vet-json",
      "gofmt-diff",
      "golangci-json",
      "istanbul-json",
      "jacoco-xml",
      "jest-json",
      "junit-xml",
      "lcov",
      "luacheck",
      "mocha-json",
      "mypy-json",
      "nextest-json",
      "node-test-junit",
      "perlcritic",
      "phpstan-json",
      "prettier-list",
      "pytest-junit",
      "regex",
      "rspec-json",
      "rubocop-json",
      "ruff-json",
      "sarif",
      "shellcheck-json",
      "simplecov-json",
      "tap",
      "tsc",
      "unified-diff",
      "unittest",
  };
  return names;
}

Status ParseDefaults(std::string_view text, const std::string& file, DefaultLimits& limits) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(text, file));
  schema::Problems problems(file);
  {
    Reader reader(table, problems);
    Reader run = reader.Sub("run");
    Reader run_limits = run.Sub("limits");
    ReadLimits(run_limits, limits.run, Need::kOptional);
    Reader compile = reader.Sub("compile");
    Reader compile_limits = compile.Sub("limits");
    ReadLimits(compile_limits, limits.compile, Need::kOptional);
    Reader packages = reader.Sub("packages");
    Reader packages_limits = packages.Sub("limits");
    ReadLimits(packages_limits, limits.packages, Need::kOptional);
  }
  return problems.ToStatus();
}

Result<Language> ParseLanguage(std::string_view text, const std::string& file,
                               const DefaultLimits& defaults, const TextFiles& files) {
  POLYBOX_ASSIGN_OR_RETURN(schema::Table table, schema::ParseToml(text, file));
  schema::Problems problems(file);
  Language language;
  language.file = file;
  language.text = text;
  language.text += PutTextFiles(table, FolderOf(file), files, problems);
  {
    // The reader must be destroyed before ToStatus(): its destructor reports unknown keys.
    Reader reader(table, problems);
    ReadLanguage(reader, language, defaults);
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return language;
}

std::vector<std::string> LanguageFileKeys() {
  std::vector<std::string> keys;
  Language unused;
  {
    Reader reader(keys);
    ReadLanguage(reader, unused, {});
  }
  return keys;
}

}  // namespace polybox::languages

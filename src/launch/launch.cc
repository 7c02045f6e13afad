#include "launch/launch.h"

#include <algorithm>
#include <fcntl.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "languages/placeholders.h"
#include "sys/command.h"

namespace polybox::launch {
namespace {

using jail::InputFile;
using languages::EntryRule;
using languages::Language;
using languages::Placeholders;

constexpr const char* kDefaultPath = "/usr/bin:/bin";

/// The name of the entry file in the working directory.
std::string EntryName(const Language& language, const LaunchInput& program) {
  const bool fixed = language.entry.rule == EntryRule::kFixed || program.files.empty();
  return fixed ? language.entry.file : program.files[0].name;
}

Placeholders ValuesFor(const Installation& installation, const LaunchInput& program) {
  const std::string entry =
      fmt::format("{}/{}", installation.places.work, EntryName(installation.language, program));
  const std::size_t dot = entry.rfind('.');
  const bool has_extension = dot != std::string::npos && dot > entry.rfind('/') + 1;
  return {{"executable", installation.toolchain.executable},
          {"root", installation.toolchain.roots[0]},
          {"version_number", installation.toolchain.VersionNumber()},
          {"entry", entry},
          {"entry_stem", has_extension ? entry.substr(0, dot) : entry},
          {"work", installation.places.work},
          {"tmp", installation.places.tmp},
          {"packages", installation.places.packages},
          {"preinstalled", kPreinstalledDirectory},
          {"prepared", jail::kPreparedDirectory},
          {"target", fmt::format("{}/{}", installation.places.work, kTargetName)}};
}

/// Returns the environment of a step. Variables of the packages replace those of the step.
/// Variables that every guest gets are added.
languages::Env Environment(const Installation& installation, const languages::Step& step,
                           const Placeholders& values) {
  languages::Env env = step.env;
  const auto& compile = installation.language.compile;
  if (!installation.prepared.empty() && compile && &step == &*compile) {
    for (const auto& [name, value] : compile->prepare->env) env[name] = value;
  }
  if (!installation.packages.empty()) {
    const languages::RequestedPackages* requests = RequestsOf(installation);
    const languages::Env& added =
        requests != nullptr ? requests->env : installation.language.packages->env;
    for (const auto& [name, value] : added) env[name] = value;
    if (requests != nullptr && !installation.preinstalled.empty()) {
      for (const auto& [name, value] : requests->preinstalled_env) env[name] = value;
    }
  }
  for (auto& [name, value] : env) value = languages::Expand(value, values);
  // The language file may set PATH; HOME is always the working directory.
  env.try_emplace("PATH", kDefaultPath);
  env["HOME"] = installation.places.work;
  // If the path is /tmp, programs find it without a variable.
  if (installation.places.tmp != jail::Places().tmp) env["TMPDIR"] = installation.places.tmp;
  const bool is_run = &step == &installation.language.run;
  if (installation.egress && is_run) env.merge(EgressEnvironment());
  return env;
}

/// Fills in everything but the limits in a request that has its arguments.
Status Complete(const Installation& installation, const languages::Env& env,
                jail::RunRequest& request) {
  request.directory = installation.places.work;
  if (request.argv[0].find('/') == std::string::npos) {
    // In the jail, the host's programs have the same paths as on the host.
    const std::string name = request.argv[0];
    request.argv[0] = sys::FindOnPath(name, env.at("PATH"));
    if (request.argv[0].empty()) {
      return Error(ErrorKind::kUnavailable,
                   fmt::format("\"{}\" not found in {}", name, env.at("PATH")));
    }
  }
  for (const auto& [name, value] : env) request.env.push_back(fmt::format("{}={}", name, value));
  return {};
}

/// Returns whether the program has files of its own below `directory`.
bool Brings(const std::vector<InputFile>& files, const std::string& directory) {
  return std::ranges::any_of(
      files, [&](const InputFile& file) { return file.name.starts_with(directory + "/"); });
}

bool Contains(const std::vector<InputFile>& files, const std::string& name) {
  return std::ranges::any_of(files, [&](const InputFile& file) { return file.name == name; });
}

/// Adds the files that a requested package set contains for the working directory.
Status AddSetFiles(const Installation& installation, std::vector<InputFile>& files) {
  // Lists of modules of large programs have about 100 KiB.
  constexpr Bytes kLargest = Bytes::MiB(1);
  const languages::RequestedPackages* requests = RequestsOf(installation);
  if (requests == nullptr) return {};
  for (const std::string& name : requests->files) {
    if (Contains(files, name)) continue;
    auto file = OpenFile(fmt::format("{}/{}", installation.packages, name), O_RDONLY | O_NOFOLLOW);
    // The installer makes the file only if the packages need it.
    if (!file.ok() && file.error().system_errno() == ENOENT) continue;
    if (!file.ok()) return std::move(file).error();
    POLYBOX_ASSIGN_OR_RETURN(std::string content, ReadAll(file->get(), kLargest));
    files.push_back({name, std::move(content), 0644});
  }
  return {};
}

}  // namespace

const languages::RequestedPackages* RequestsOf(const Installation& installation) {
  const auto& packages = installation.language.packages;
  return installation.requested && packages && packages->requests ? &*packages->requests : nullptr;
}

languages::Env EgressEnvironment() {
  const std::string proxy = fmt::format("http://127.0.0.1:{}", jail::kEgressPort);
  languages::Env env;
  // Some programs know only the lower-case names. The proxy answers plain http with an error that
  // mentions https, which is better than no answer.
  for (const char* name : {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}) {
    env[name] = proxy;
  }
  // A program that connects to its own server must not use the proxy.
  for (const char* name : {"NO_PROXY", "no_proxy"}) env[name] = "localhost,127.0.0.1,::1";
  return env;
}

jail::Spec SpecFor(const Installation& installation, jail::Grade grade) {
  jail::Spec spec = jail::HostSpec();
  spec.grade = grade;
  spec.egress = installation.egress;
  spec.warm = installation.warm;
  for (const std::string& root : installation.toolchain.roots) jail::ShowPath(spec, root);
  const Language& language = installation.language;
  Bytes disk = language.run.limits.disk;
  std::int64_t inodes = language.run.limits.inodes;
  for (const std::string& path : language.run.read_only) jail::ShowPath(spec, path);
  if (language.compile) {
    for (const std::string& path : language.compile->read_only) jail::ShowPath(spec, path);
    disk = std::max(disk, language.compile->limits.disk);
    inodes = std::max(inodes, language.compile->limits.inodes);
  }
  spec.scratch = disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(inodes);
  if (!installation.packages.empty()) {
    spec.trees.push_back({installation.packages, jail::kPackagesDirectory, false});
  }
  if (!installation.preinstalled.empty()) {
    spec.trees.push_back({installation.preinstalled, kPreinstalledDirectory, false});
  }
  if (!installation.prepared.empty()) {
    spec.trees.push_back({installation.prepared, jail::kPreparedDirectory, false});
  }
  return spec;
}

Result<std::vector<InputFile>> FilesFor(const Installation& installation,
                                        const LaunchInput& program) {
  const Language& language = installation.language;
  std::vector<InputFile> files = program.files;
  // The first file is the entry.
  if (!files.empty()) files[0].name = EntryName(language, program);
  for (const InputFile& file : files) {
    if (std::ranges::count(language.restricted_files, file.name) != 0) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("\"{}\" is not allowed for {}", file.name, language.name));
    }
  }
  POLYBOX_RETURN_IF_ERROR(AddSetFiles(installation, files));
  const Placeholders values = ValuesFor(installation, program);
  for (const auto& [name, content] : language.default_files) {
    if (!Contains(files, name)) files.push_back({name, languages::Expand(content, values), 0644});
  }
  if (!installation.packages.empty() && !language.packages->mount.empty()) {
    const std::string& mount = language.packages->mount;
    // The program's own packages replace the installed ones.
    if (Brings(program.files, mount)) return files;
    files.push_back(
        {mount, fmt::format("{}/{}", installation.places.packages, mount), S_IFLNK | 0777});
  }
  return files;
}

void SetVariable(jail::RunRequest& run, const std::string& name, const std::string& value) {
  std::erase_if(run.env, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  run.env.push_back(fmt::format("{}={}", name, value));
}

void NameOutput(const Installation& installation, const std::string& directory,
                jail::RunRequest& run) {
  if (directory.empty()) return;
  SetVariable(run, "OUTPUT_DIR", fmt::format("{}/{}", installation.places.work, directory));
}

std::vector<std::string> ExpandFor(const Installation& installation, const LaunchInput& program,
                                   const std::vector<std::string>& templates) {
  return languages::Expand(templates, ValuesFor(installation, program));
}

Result<jail::RunRequest> RequestFor(const Installation& installation, const languages::Step& step,
                                    const LaunchInput& program) {
  Placeholders values = ValuesFor(installation, program);
  // Runtimes take a whole number of MiB, and none works with 0.
  const std::uint64_t memory = program.memory.value_or(step.limits.memory).count() >> 20U;
  values["memory_mib"] = std::to_string(std::max<std::uint64_t>(memory, 1));
  jail::RunRequest request;
  request.argv = languages::Expand(step.command, values);
  POLYBOX_RETURN_IF_ERROR(Complete(installation, Environment(installation, step, values), request));
  request.limits = step.limits;
  if (&step == &installation.language.run) {
    request.argv.insert(request.argv.end(), program.args.begin(), program.args.end());
  }
  return request;
}

Result<jail::RunRequest> PreparationFor(const Installation& installation) {
  const languages::CompileStep& step = *installation.language.compile;
  const Placeholders values = ValuesFor(installation, {});
  jail::RunRequest request;
  request.argv = languages::Expand(step.prepare->command, values);
  POLYBOX_RETURN_IF_ERROR(Complete(installation, Environment(installation, step, values), request));
  request.limits = step.prepare->limits;
  return request;
}

}  // namespace polybox::launch

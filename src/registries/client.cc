#include "registries/client.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "jail/spec.h"
#include "languages/placeholders.h"
#include "launch/host_programs.h"
#include "sys/command.h"

namespace polybox::registries {
namespace {

// npm needs a second on a busy machine.
constexpr Duration kAskTime = std::chrono::seconds(10);

// A home directory that does not exist, for a user whose own one does not count.
constexpr const char* kNoHome = "/nonexistent";

/// Returns the home directory of a user by the user database; kNoHome if there is none.
std::string HomeOf(uid_t uid) {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const int failed = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_dir : kNoHome;
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

bool IsIn(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory == "/" ? "/" : directory + "/");
}

/// Returns the words of a command that runs `argv` with the ids of the user. posix_spawn() cannot
/// change ids, and code between fork() and exec() could not report what fails.
Result<std::vector<std::string>> AsUser(const ClientUser& user, std::vector<std::string> argv) {
  if (!user.ids) return argv;
  const std::string program = sys::FindOnPath("setpriv", "/usr/bin:/bin");
  if (program.empty()) return Error(ErrorKind::kUnavailable, "the program setpriv is missing");
  std::vector<std::string> words = {program,
                                    fmt::format("--reuid={}", user.ids->first),
                                    fmt::format("--regid={}", user.ids->second),
                                    "--clear-groups",
                                    "--inh-caps=-all",
                                    "--no-new-privs",
                                    "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

languages::Env EnvironmentFor(const Client& client, const AskOptions& options) {
  languages::Env env;
  if (!options.user.inherits_variables) {
    jail::Spec unused;
    const languages::RegistryClients& settings = client.settings();
    env = launch::PassVariables({settings.pass_env, settings.pass_files, options.variable}, unused);
  }
  std::string path;
  for (const std::string& root : client.toolchain.roots) path += root + "/bin:";
  env["PATH"] = path + options.path;
  env["HOME"] = options.user.home;
  return env;
}

}  // namespace

std::vector<Client> ClientsOn(const std::vector<languages::Language>& languages,
                              const languages::Toolchains& toolchains, const std::string& path) {
  std::vector<Client> clients;
  for (const languages::Language& language : languages) {
    const auto toolchain = toolchains.find(language.id);
    if (!language.registry || toolchain == toolchains.end() || !toolchain->second.ok()) continue;
    const Client client = {language, *toolchain->second};
    const bool exists =
        std::ranges::any_of(language.registry->binaries, [&](const std::string& name) {
          return !launch::FindProgram(name, client.toolchain, path).empty();
        });
    if (exists) clients.push_back(client);
  }
  return clients;
}

ClientUser UserFor(uid_t owner, gid_t group, const std::string& workspace) {
  ClientUser user;
  if (::geteuid() == 0 && owner != 0) {
    user.ids = {owner, group};
    user.home = HomeOf(owner);
  } else {
    const char* home = std::getenv("HOME");
    user.home = home == nullptr ? HomeOf(::geteuid()) : home;
    user.inherits_variables = true;
  }
  if (!IsIn(RealPath(user.home), workspace)) return user;
  user.home = kNoHome;
  // A variable may name a file in the home directory.
  user.inherits_variables = false;
  return user;
}

Result<ClientAnswer> Ask(const Client& client, const AskOptions& options) {
  const languages::Placeholders values = {{"binary", client.toolchain.binary},
                                          {"executable", client.toolchain.executable},
                                          {"root", client.toolchain.roots[0]},
                                          {"proxy_host", "127.0.0.1"},
                                          {"proxy_port", std::to_string(jail::kEgressPort)}};
  const languages::Env env = EnvironmentFor(client, options);
  std::vector<std::string> argv = languages::Expand(client.settings().ask, values);
  if (argv[0].find('/') == std::string::npos) {
    const std::string found = sys::FindOnPath(argv[0], env.at("PATH"));
    if (found.empty()) {
      return Error(ErrorKind::kUnavailable, fmt::format("the program {} is missing", argv[0]));
    }
    argv[0] = found;
  }
  sys::Command command;
  POLYBOX_ASSIGN_OR_RETURN(command.argv, AsUser(options.user, std::move(argv)));
  command.env = env;
  command.inherit =
      options.user.inherits_variables ? sys::Command::Inherit::kAll : sys::Command::Inherit::kNone;
  command.timeout = kAskTime;
  POLYBOX_ASSIGN_OR_RETURN(const sys::CommandOutput output, sys::RunCommand(command));
  if (!output.ok()) return Error(ErrorKind::kUnavailable, output.Failure());
  return ParseClientAnswer(output.out);
}

}  // namespace polybox::registries

#include "machine/user_home.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sys/command.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;

std::string Variable(const std::string& name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment while threads run.
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string HomeOf(uid_t uid) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return "";
  std::error_code error;
  const std::string home = entry.pw_dir;
  return home.size() > 1 && fs::is_directory(home, error) ? home : "";
}

/// Replaces "~" and "$NAME" at the beginning; "" if the variable is not set.
std::string Expand(const std::string& source, const std::string& user_home) {
  const std::size_t slash = std::min(source.find('/'), source.size());
  const std::string first = source[0] == '~' ? user_home : Variable(source.substr(1, slash - 1));
  return first.empty() ? "" : first + source.substr(slash);
}

/// Returns what `git config` prints for a key of the user's own configuration.
std::string GitValue(const std::string& git, const std::string& user_home, const char* key) {
  const auto output =
      sys::RunCommand({.argv = {git, "config", "--global", "--includes", "--get", key},
                       .env = {{"HOME", user_home}}});
  if (!output.ok() || !output->ok()) return "";
  return output->out.substr(0, output->out.find('\n'));
}

/// Returns the value in the quotes of a git configuration.
std::string Quoted(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string UserHome(const workspace::Owner& owner) {
  if (::geteuid() == 0 && owner.uid != 0) {
    if (std::string home = HomeOf(owner.uid); !home.empty()) return home;
  }
  return Variable("HOME");
}

std::string FindCache(const languages::PackageCache& cache, const std::string& user_home) {
  for (const std::string& source : cache.sources) {
    std::error_code error;
    const fs::path path = fs::canonical(Expand(source, user_home), error);
    if (!error && fs::is_directory(path, error)) return path.string();
  }
  return "";
}

std::string GitConfigOf(const std::string& user_home) {
  const std::string git = sys::FindOnPath("git", Variable("PATH"));
  if (git.empty() || user_home.empty()) return "";
  const std::string name = GitValue(git, user_home, "user.name");
  const std::string email = GitValue(git, user_home, "user.email");
  std::string config;
  if (!name.empty()) config += fmt::format("\tname = {}\n", Quoted(name));
  if (!email.empty()) config += fmt::format("\temail = {}\n", Quoted(email));
  return config.empty() ? "" : "[user]\n" + config;
}

}  // namespace polybox::machine

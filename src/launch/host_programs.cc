#include "launch/host_programs.h"

#include <algorithm>
#include <filesystem>

#include "sys/command.h"

namespace polybox::launch {
namespace {

namespace fs = std::filesystem;

/// Shows the paths that a variable contains, separated by colons, at the same paths in the jail.
void ShowNamed(jail::Spec& spec, const std::string& value) {
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find(':', at), value.size());
    const std::string path = value.substr(at, end - at);
    at = end + 1;
    if (!path.starts_with('/')) continue;
    jail::ShowPath(spec, path);
    std::error_code error;
    const std::string real = fs::canonical(path, error).string();
    if (!error && real != path) jail::ShowPath(spec, real);
  }
}

}  // namespace

std::string FindProgram(const std::string& name, const languages::Toolchain& toolchain,
                        const std::string& path) {
  std::string directories;
  for (const std::string& root : toolchain.roots) directories += root + "/bin:";
  const std::string found = sys::FindOnPath(name, directories + path);
  std::error_code error;
  return found.empty() ? "" : fs::canonical(found, error).string();
}

void ShowProgram(jail::Spec& spec, const std::string& program, const std::string& marker) {
  const fs::path package = fs::path(program).parent_path().parent_path();
  std::error_code ignored;
  const bool belongs = !marker.empty() && package.has_relative_path() &&
                       fs::is_regular_file(package / marker, ignored);
  jail::ShowPath(spec, belongs ? package.string() : program);
}

languages::Env PassVariables(const PassedVariables& passed, jail::Spec& spec) {
  languages::Env env;
  for (const std::string& name : passed.names) {
    if (std::string value = passed.variable(name); !value.empty()) env[name] = std::move(value);
  }
  for (const std::string& name : passed.files) {
    std::string value = passed.variable(name);
    if (value.empty()) continue;
    ShowNamed(spec, value);
    env[name] = std::move(value);
  }
  return env;
}

}  // namespace polybox::launch

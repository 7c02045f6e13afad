#include "secrets/environment.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;  // POSIX requires programs to declare it

namespace polybox::secrets {
namespace {

constexpr std::string_view kPrefix = "CODEGEN_SANDBOX_SECRET_";

}  // namespace

std::vector<EnvironmentSecret> TakeEnvironmentSecrets() {
  std::vector<EnvironmentSecret> taken;
  char** kept = environ;
  if (kept == nullptr) return taken;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t sign = text.find('=');
    if (!text.starts_with(kPrefix) || sign == std::string_view::npos) {
      *kept++ = *entry;
      continue;
    }
    // A variable without a name after the prefix cannot be asked for, but is removed as well.
    EnvironmentSecret secret;
    for (const char c : text.substr(kPrefix.size(), sign - kPrefix.size())) {
      secret.name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    secret.value = text.substr(sign + 1);
    if (!secret.name.empty()) taken.push_back(std::move(secret));
    ::explicit_bzero(*entry, text.size());
  }
  *kept = nullptr;
  return taken;
}

}  // namespace polybox::secrets

// secrets_available: names the secrets that the tool `secret` can read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "secrets/secret_store.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

struct SecretsAvailableArguments {
  static constexpr auto Members() { return std::tuple(); }
};

struct SecretsAvailableResult {
  std::vector<std::string> names = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("names", &SecretsAvailableResult::names));
  }
};

std::string Text(const SecretsAvailableResult& result) {
  return fmt::format("{}", fmt::join(result.names, "\n"));
}

Result<SecretsAvailableResult> ListSecrets(const Context& context,
                                           const SecretsAvailableArguments& /*none*/) {
  if (context.secrets == nullptr) return SecretsAvailableResult();
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> names, context.secrets->Names());
  return SecretsAvailableResult{std::move(names)};
}

}  // namespace

Tool SecretsAvailableTool() {
  return MakeTool<SecretsAvailableArguments, SecretsAvailableResult>(
      {.name = "secrets_available",
       .title = "Names of the secrets",
       .description = "Lists the names of the secrets that the tool secret can read.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kSecrets},
      ListSecrets);
}

}  // namespace polybox::tools

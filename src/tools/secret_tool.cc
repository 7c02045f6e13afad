// secret: gives the value of a secret to the agent. The only tool whose answer is not scrubbed.
#include "secrets/secret_store.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

struct SecretArguments {
  std::string name;

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &SecretArguments::name));
  }
};

struct SecretResult {
  std::string name = {};
  std::string value = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &SecretResult::name),
                      json::Required("value", &SecretResult::value));
  }
};

std::string Text(const SecretResult& result) {
  return result.value;
}

Result<SecretResult> ReadSecret(const Context& context, const SecretArguments& arguments) {
  if (context.secrets == nullptr) {
    return Error(ErrorKind::kUnavailable, "secrets not configured")
        .WithFix("Start polybox with secrets-dir");
  }
  POLYBOX_ASSIGN_OR_RETURN(std::string value,
                           context.secrets->Get(arguments.name, context.principal));
  return SecretResult{arguments.name, std::move(value)};
}

}  // namespace

Tool SecretTool() {
  return MakeTool<SecretArguments, SecretResult>(
      {.name = "secret",
       .title = "Value of a secret",
       .description = "Returns the value of a secret that secrets_available lists. Other answers "
                      "show [REDACTED:name] in its place. The access is logged.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kSecrets,
       .reveals_secrets = true},
      ReadSecret);
}

}  // namespace polybox::tools

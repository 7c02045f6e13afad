#include "http/tokens.h"

#include <algorithm>
#include <strings.h>

#include <fmt/format.h>

#include "base/files.h"

namespace polybox::http {
namespace {

// A shorter token could be guessed over the network.
constexpr std::size_t kShortest = 16;

/// Compares all bytes in every case, so that the time reveals nothing about the secret.
bool SameSecret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto a = static_cast<unsigned char>(given[i]);
    const auto b = static_cast<unsigned char>(secret[i % secret.size()]);
    difference |= static_cast<unsigned>(a ^ b);
  }
  return difference == 0;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Returns the text after "Bearer".
std::string_view BearerToken(std::string_view field) {
  constexpr std::string_view kScheme = "bearer ";
  if (field.size() <= kScheme.size()) return "";
  if (::strncasecmp(field.data(), kScheme.data(), kScheme.size()) != 0) return "";
  return Trimmed(field.substr(kScheme.size()));
}

}  // namespace

Result<Tokens> Tokens::Parse(std::string_view text) {
  Tokens tokens;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view token = Trimmed(text.substr(at, end - at));
    at = end + 1;
    ++line;
    if (token.empty() || token.starts_with('#')) continue;
    if (token.size() < kShortest) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("line {}: a token needs at least {} characters", line, kShortest));
    }
    tokens.tokens_.push_back({std::string(token), line});
  }
  if (!tokens.empty()) return tokens;
  return Error(ErrorKind::kInvalid, "it holds no token");
}

Result<Tokens> Tokens::Load(const std::string& file) {
  const std::string intent = "read the tokens of " + file;
  POLYBOX_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, Bytes::MiB(1)).In(intent));
  return Parse(text).In(intent);
}

std::string Tokens::LabelOf(const Request& request) const {
  std::string_view given = BearerToken(request.Header("Authorization"));
  // A router in front of this server may remove Authorization.
  if (given.empty()) given = Trimmed(request.Header("X-Polybox-Token"));
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    if (SameSecret(given, token.text)) found = &token;
  }
  return found == nullptr ? "" : fmt::format("token-{}", found->line);
}

}  // namespace polybox::http

#include "mcp/request_state.h"

#include <cstdlib>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "json/parse.h"
#include "json/write.h"

namespace polybox::mcp {
namespace {

/// Answers of a person are short. A longer state would be sent with every round.
constexpr std::size_t kLongestState = 256U << 10U;

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns what the state is bound to. The lengths keep two different lists of parts from being the
/// same text.
std::string BoundText(std::string_view payload, const Request& request,
                      std::string_view principal) {
  json::Object named;
  for (const std::string_view member : {"name", "uri", "arguments"}) {
    if (const json::Value* found = request.params.if_contains(member)) named[member] = *found;
  }
  const std::string parameters = json::Write(named);
  return fmt::format("{}:{}{}:{}{}:{}{}", principal.size(), principal, request.method.size(),
                     request.method, parameters.size(), parameters, payload);
}

Error Refusal(std::string_view why) {
  return Error(ErrorKind::kInvalid, fmt::format("requestState {}", why))
      .WithFix("Send the request again without requestState");
}

}  // namespace

StateSeal::StateSeal(Duration lifetime) : lifetime_(lifetime) {
  // Without random bytes nothing can be sealed; OpenSSL fails only where the kernel does.
  if (::RAND_bytes(key_.data(), static_cast<int>(key_.size())) != 1) std::abort();
}

std::string StateSeal::Sign(std::string_view payload, const Request& request,
                            std::string_view principal) const {
  const std::string text = BoundText(payload, request, principal);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  ::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest.at(i));
  return hex;
}

Result<std::string> StateSeal::Close(const json::Object& answers, const Request& request,
                                     std::string_view principal) const {
  const std::int64_t end =
      Now() + std::chrono::duration_cast<std::chrono::seconds>(lifetime_).count();
  const std::string payload = json::Write(json::Object{{"until", end}, {"answers", answers}});
  if (payload.size() > kLongestState) {
    return Error(ErrorKind::kInvalid, "the answers of the client are too long");
  }
  return Sign(payload, request, principal) + payload;
}

Result<json::Object> StateSeal::Open(std::string_view state, const Request& request,
                                     std::string_view principal) const {
  constexpr std::size_t kSeal = 64;
  if (state.size() < kSeal || state.size() > kSeal + kLongestState) {
    return Refusal("is not one of this server");
  }
  const std::string_view payload = state.substr(kSeal);
  const std::string wanted = Sign(payload, request, principal);
  if (::CRYPTO_memcmp(wanted.data(), state.data(), kSeal) != 0) {
    return Refusal("is not one that this server made for this request and caller");
  }
  POLYBOX_ASSIGN_OR_RETURN(json::Value value, json::Parse(payload));
  json::Object& members = value.as_object();
  if (members.at("until").as_int64() < Now()) return Refusal("has expired");
  return std::move(members.at("answers").as_object());
}

}  // namespace polybox::mcp

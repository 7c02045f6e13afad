// SHA-256, for names that are derived from contents. Used by the compile cache and the stores.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace polybox::store {

/// Returns the digest of `bytes` as 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

/// Computes the digest of bytes that arrive in parts.
class Sha256Stream {
 public:
  Sha256Stream();
  void Add(std::string_view bytes);
  /// Returns the digest as 64 hexadecimal digits. May be called once; the object is then of no
  /// further use.
  std::string Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace polybox::store

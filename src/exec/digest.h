// SHA-256, for names that say what is inside.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace polybox::exec {

/// 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

/// The same of bytes that come one part after the other.
class Sha256Stream {
 public:
  Sha256Stream();
  void Add(std::string_view bytes);
  /// Once, at the end.
  std::string Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace polybox::exec

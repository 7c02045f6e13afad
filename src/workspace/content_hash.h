// The SHA-256 digest of a file's content, by which a later change of the file is noticed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

struct evp_md_ctx_st;

namespace polybox::workspace {

using ContentHash = std::array<std::uint8_t, 32>;

/// Returns the digest of `content`. Any thread.
ContentHash HashOf(std::string_view content);

/// Computes the digest of content that arrives in parts. One thread.
class ContentHasher {
 public:
  ContentHasher();
  void Add(std::string_view bytes);
  /// Returns the digest. May be called once; the object is then of no further use.
  ContentHash Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace polybox::workspace

#include "workspace/content_hash.h"

#include <cstdlib>

#include <openssl/evp.h>

namespace polybox::workspace {
namespace {

/// Aborts if a call failed. These calls can only fail for lack of memory.
void Check(int result) {
  if (result != 1) std::abort();
}

}  // namespace

ContentHasher::ContentHasher() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  Check(context_ == nullptr ? 0 : EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void ContentHasher::Add(std::string_view bytes) {
  Check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

ContentHash ContentHasher::Finish() {
  ContentHash hash{};
  Check(EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr));
  return hash;
}

ContentHash HashOf(std::string_view content) {
  ContentHasher hasher;
  hasher.Add(content);
  return hasher.Finish();
}

}  // namespace polybox::workspace

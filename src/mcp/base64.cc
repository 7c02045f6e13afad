#include "mcp/base64.h"

#include <openssl/evp.h>

namespace polybox::mcp {

std::string Base64(std::string_view bytes) {
  // One character more for the NUL that OpenSSL writes.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace polybox::mcp

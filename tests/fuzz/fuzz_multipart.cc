// The form of POST /upload: the first line of the input is its content type.
#include "fuzz/fuzz.h"
#include "http/doors/multipart.h"

namespace polybox::fuzz {
namespace {

void Run(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view body = text.substr(std::min(end + 1, text.size()));
  const auto found = http::FindUpload(text.substr(0, end), body, "file");
  if (!found.ok()) return Check(!found.error().message().empty(), "a refusal says why");
  if (!*found) return;
  const http::UploadedFile& file = **found;
  Check(!file.filename.empty(), "a file has a name");
  Check(file.content.data() >= body.data() &&
            file.content.data() + file.content.size() <= body.data() + body.size(),
        "its content lies in the body");
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

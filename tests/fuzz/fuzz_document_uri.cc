// URIs of documents: those of files and of stored output.
#include "fuzz/fuzz.h"
#include "tools/document_uri.h"

namespace polybox::fuzz {
namespace {

/// Returns the URI of a path, with every byte escaped that could mean something.
std::string UriOf(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/') {
      uri += c;
    } else {
      uri += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return uri;
}

void Run(std::string_view text) {
  if (const auto path = tools::PathOfFileUri(text)) {
    Check(text.starts_with("file://"), "a file URI says so", text);
    if (path->ok()) {
      const std::string& found = path->value();
      Check(found.starts_with('/'), "a path is absolute", text);
      Check(found.find('\0') == std::string::npos, "a path has no NUL", text);
      const auto again = tools::PathOfFileUri(UriOf(found));
      Check(again && again->ok() && again->value() == found, "every path has a URI", text);
    }
  }
  if (const auto output = tools::ParseOutputUri(text)) {
    Check(text.starts_with(tools::kOutputUriBegin), "a URI of output says so", text);
    if (output->ok()) {
      Check(output->value().shell_id.find('/') == std::string::npos, "an id is one part", text);
      Check(output->value().stream.find('/') == std::string::npos, "a stream is one part", text);
    }
  }
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

#include "verify/xml.h"

#include <algorithm>
#include <expat.h>
#include <memory>

#include <fmt/format.h>

#include "base/printable.h"
#include "verify/not_this.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

/// Reports nest less than ten levels; JUnit suites and packages add a few.
constexpr int kDeepest = 256;
/// The parser copies each part that it gets. Only a tag that crosses parts is scanned twice.
constexpr std::size_t kPart = std::size_t{1024} * 1024;
/// A larger report is no report of a person's project.
constexpr std::size_t kLongest = std::size_t{1024} * 1024 * 1024;

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using ParserPointer = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

/// What the callbacks share. They have the calling convention of C, so nothing may throw.
struct State {
  XML_Parser parser;
  XmlHandler* handler;
  int depth = 0;
  /// Why the document is refused; "" if it is not.
  std::string refusal = {};

  void Refuse(std::string why) {
    refusal = std::move(why);
    XML_StopParser(parser, XML_FALSE);
  }
};

State& Of(void* data) {
  return *static_cast<State*>(data);
}

void OnOpen(void* data, const char* name, const char** attributes) {
  State& state = Of(data);
  if (++state.depth > kDeepest) return state.Refuse("the elements are nested too deeply");
  state.handler->Open(XmlElement(name, attributes));
}

void OnClose(void* data, const char* name) {
  --Of(data).depth;
  Of(data).handler->Close(name);
}

void OnText(void* data, const char* text, int length) {
  Of(data).handler->Text({text, static_cast<std::size_t>(length)});
}

/// Coverage reports name a public DTD, which is not loaded. Only an internal part can declare
/// entities.
void OnDoctype(void* data, const char* /*name*/, const char* /*system*/, const char* /*public*/,
               int has_internal_part) {
  if (has_internal_part != 0) {
    Of(data).Refuse("the document type has declarations of its own, such as entities");
  }
}

/// Called for an entity that only a DTD could declare.
void OnSkippedEntity(void* data, const char* name, int /*is_parameter*/) {
  Of(data).Refuse(fmt::format("the entity \"{}\" is unknown", PrintableForQuotes(name, 40)));
}

/// Returns whether each byte is one that XML allows in UTF-8.
bool IsAllowed(std::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte < 0x80) {
      if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') return false;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = Utf8SequenceLength(text);
    // U+FFFE and U+FFFF are no characters of XML.
    if (length == 0 || text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF")) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string Cleaned(std::string_view text) {
  std::string clean = ToUtf8(text);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') c = '?';
  }
  for (const std::string_view wrong : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = 0; (at = clean.find(wrong, at)) != std::string::npos;) {
      clean.replace(at, wrong.size(), "\xEF\xBF\xBD");
    }
  }
  return clean;
}

/// Returns whether the document says that it is in another encoding than UTF-8.
bool HasOwnEncoding(std::string_view text) {
  if (text.starts_with("\xFE\xFF") || text.starts_with("\xFF\xFE")) return true;
  const std::string_view declaration = text.substr(0, std::min(text.find("?>"), text.size()));
  const std::size_t at = declaration.find("encoding=");
  if (!text.starts_with("<?xml") || at == std::string_view::npos) return false;
  const std::string_view encoding = declaration.substr(at);
  return encoding.find("UTF-8") == std::string_view::npos &&
         encoding.find("utf-8") == std::string_view::npos;
}

Status ParseParts(std::string_view text, std::string_view what, State& state) {
  while (true) {
    const std::string_view part = text.substr(0, kPart);
    text.remove_prefix(part.size());
    const int is_last = text.empty() ? 1 : 0;
    if (XML_Parse(state.parser, part.data(), static_cast<int>(part.size()), is_last) !=
        XML_STATUS_OK) {
      if (!state.refusal.empty()) return NotThis(what, state.refusal);
      return NotThis(what,
                     fmt::format("{} at line {}", XML_ErrorString(XML_GetErrorCode(state.parser)),
                                 XML_GetCurrentLineNumber(state.parser)));
    }
    if (is_last != 0) return {};
  }
}

}  // namespace

std::string_view XmlElement::Attribute(std::string_view name) const {
  for (const char** at = attributes_; at[0] != nullptr; at += 2) {
    if (name == at[0]) return at[1];
  }
  return {};
}

bool XmlElement::Has(std::string_view name) const {
  for (const char** at = attributes_; at[0] != nullptr; at += 2) {
    if (name == at[0]) return true;
  }
  return false;
}

Status ReadXml(std::string_view text, std::string_view what, XmlHandler& handler) {
  text = Trim(text);
  if (text.empty()) return NotThis(what, "the report is empty");
  if (text.size() > kLongest) return NotThis(what, "the report has more than 1 GiB");
  std::string cleaned;
  if (!HasOwnEncoding(text) && !IsAllowed(text)) {
    cleaned = Cleaned(text);
    text = cleaned;
  }
  const ParserPointer parser(XML_ParserCreate(nullptr));
  if (!parser) return NotThis(what, "no memory for its parser");
  State state{.parser = parser.get(), .handler = &handler};
  XML_SetUserData(parser.get(), &state);
  XML_SetElementHandler(parser.get(), OnOpen, OnClose);
  XML_SetCharacterDataHandler(parser.get(), OnText);
  XML_SetStartDoctypeDeclHandler(parser.get(), OnDoctype);
  XML_SetSkippedEntityHandler(parser.get(), OnSkippedEntity);
  return ParseParts(text, what, state);
}

}  // namespace polybox::verify

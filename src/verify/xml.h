// Reads XML of tools as a stream of elements, in bounded memory. XML comes from a project's own
// code and is not trusted: a document that declares entities is refused before any of them is
// expanded, and nothing outside the document is ever loaded. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::verify {

/// An element that begins, with its attributes. Valid during the call only.
class XmlElement {
 public:
  XmlElement(const char* name, const char** attributes) : name_(name), attributes_(attributes) {}

  std::string_view name() const { return name_; }
  /// Returns "" if the element does not have the attribute.
  std::string_view Attribute(std::string_view name) const;
  bool Has(std::string_view name) const;

 private:
  const char* name_;
  /// Names and values by turns; a null pointer ends the list.
  const char** attributes_;
};

/// Gets the elements in the order of the document.
class XmlHandler {
 public:
  virtual ~XmlHandler() = default;

  virtual void Open(const XmlElement& element) = 0;
  /// A part of the text inside the present element.
  virtual void Text(std::string_view /*text*/) {}
  virtual void Close(std::string_view name) = 0;
};

/// Calls the handler for the whole document. `what` names the format in errors. Bytes that XML does
/// not allow become U+FFFD. An error means that the document is no XML, is not complete, declares
/// entities or is nested too deeply. The handler has then seen a part of the document.
Status ReadXml(std::string_view text, std::string_view what, XmlHandler& handler);

}  // namespace polybox::verify

#include "verify/xml.h"

#include <string>

#include <gtest/gtest.h>

namespace polybox::verify {
namespace {

/// Writes down what it sees: "<a>text</a>".
class Recorder final : public XmlHandler {
 public:
  void Open(const XmlElement& element) override {
    seen += "<" + std::string(element.name()) + ">";
    if (element.Has("x")) seen += "x=" + std::string(element.Attribute("x"));
  }
  void Text(std::string_view text) override { seen += text; }
  void Close(std::string_view name) override { seen += "</" + std::string(name) + ">"; }

  std::string seen;
};

std::string Complaint(const std::string& text) {
  Recorder recorder;
  const Status read = ReadXml(text, "XML", recorder);
  return read.ok() ? "" : read.error().message();
}

TEST(ReadXml, CallsTheHandlerInTheOrderOfTheDocument) {
  Recorder recorder;
  ASSERT_TRUE(ReadXml("<a x='1&amp;2'>t<![CDATA[<b>]]><c/></a>", "XML", recorder).ok());
  EXPECT_EQ(recorder.seen, "<a>x=1&2t<b><c></c></a>");
}

TEST(ReadXml, RefusesADocumentThatDeclaresEntities) {
  const std::string laughs = "<!DOCTYPE a [<!ENTITY b 'ha'><!ENTITY c '&b;&b;&b;&b;'>]><a>&c;</a>";
  EXPECT_EQ(Complaint(laughs),
            "not XML: the document type has declarations of its own, such as entities");
  const std::string outside = "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>";
  EXPECT_EQ(Complaint(outside),
            "not XML: the document type has declarations of its own, such as entities");
}

TEST(ReadXml, LoadsNoDocumentTypeFromOutside) {
  EXPECT_EQ(Complaint("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"), "");
  EXPECT_EQ(Complaint("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a>&b;</a>"),
            "not XML: the entity \"b\" is unknown");
}

TEST(ReadXml, RefusesWhatIsNestedTooDeeply) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "<a>";
  EXPECT_EQ(Complaint(deep), "not XML: the elements are nested too deeply");
}

TEST(ReadXml, ReplacesBytesThatXmlDoesNotAllow) {
  Recorder recorder;
  ASSERT_TRUE(ReadXml("<a>\x1b[1m\xff</a>", "XML", recorder).ok());
  EXPECT_EQ(recorder.seen, "<a>?[1m\xEF\xBF\xBD</a>");
}

TEST(ReadXml, ReadsTextOfSeveralMegabytesInParts) {
  Recorder recorder;
  const std::string text(3'000'000, 't');
  ASSERT_TRUE(ReadXml("<a>" + text + "</a>", "XML", recorder).ok());
  EXPECT_EQ(recorder.seen.size(), text.size() + 7);
}

}  // namespace
}  // namespace polybox::verify

// Checkstyle's XML, which linters of many languages write: <file name> with <error line column
// severity message source>.
#include <string>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"
#include "verify/xml.h"

namespace polybox::verify {
namespace {

class Handler final : public XmlHandler {
 public:
  explicit Handler(std::string_view root) : findings_(root) {}

  void Open(const XmlElement& element) override {
    const std::string_view name = element.name();
    if (name == "checkstyle") saw_root_ = true;
    if (name == "file") file_ = element.Attribute("name");
    if (name != "error") return;
    // Checkstyle's own rules are Java classes; the last part is the name that people use.
    std::string_view rule = element.Attribute("source");
    if (rule.starts_with("com.puppycrawl.")) rule = rule.substr(rule.rfind('.') + 1);
    findings_.Add({.file = file_,
                   .range = {.line = NumberOr0(element.Attribute("line")),
                             .column = NumberOr0(element.Attribute("column"))},
                   .severity = SeverityOf(element.Attribute("severity")),
                   .rule = rule,
                   .message = element.Attribute("message")});
  }
  void Close(std::string_view /*name*/) override {}

  bool saw_root() const { return saw_root_; }
  FindingReport Take() { return findings_.Take(); }

 private:
  FindingCollector findings_;
  std::string file_;
  bool saw_root_ = false;
};

}  // namespace

Report ParseCheckstyleXml(const ParserInput& input) {
  constexpr std::string_view kWhat = "Checkstyle's XML";
  Handler handler(input.root);
  const Status read = ReadXml(ReportText(input), kWhat, handler);
  if (!read.ok()) return Unreadable{read.error().message()};
  if (!handler.saw_root()) {
    return Unreadable{NotThis(kWhat, "it has no element <checkstyle>").message()};
  }
  return handler.Take();
}

}  // namespace polybox::verify

// The XML reports of coverage tools: Cobertura (also of coverage.py, gcovr, istanbul), JaCoCo and
// Clover (also of PHPUnit and jest).
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verify/coverage.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"
#include "verify/xml.h"

namespace polybox::verify {
namespace {

/// What the three formats have in common: files with lines.
class Handler : public XmlHandler {
 public:
  explicit Handler(std::string_view root) : coverage_(root) {}

  bool saw_root() const { return saw_root_; }
  CoverageReport Take() const { return coverage_.Take(); }

 protected:
  void Hit(std::int64_t line, std::int64_t hits) {
    if (lines_ != nullptr) CoverageCollector::Hit(*lines_, line, hits);
  }

  CoverageCollector coverage_;
  CoverageCollector::Lines* lines_ = nullptr;
  bool saw_root_ = false;
};

class Cobertura final : public Handler {
 public:
  using Handler::Handler;

  void Open(const XmlElement& element) override {
    const std::string_view name = element.name();
    if (name == "coverage") saw_root_ = true;
    if (name == "class") lines_ = &coverage_.File(element.Attribute("filename"));
    // The lines of methods come again in the list of the class.
    if (name == "methods") in_methods_ = true;
    if (name == "line" && !in_methods_) {
      Hit(NumberOr0(element.Attribute("number")), NumberOr0(element.Attribute("hits")));
    }
  }
  void Close(std::string_view name) override {
    if (name == "class") lines_ = nullptr;
    if (name == "methods") in_methods_ = false;
  }

 private:
  bool in_methods_ = false;
};

class Jacoco final : public Handler {
 public:
  using Handler::Handler;

  void Open(const XmlElement& element) override {
    const std::string_view name = element.name();
    if (name == "report") saw_root_ = true;
    if (name == "package") package_ = element.Attribute("name");
    if (name == "sourcefile") {
      const std::string_view file = element.Attribute("name");
      lines_ = &coverage_.File(package_.empty() ? std::string(file)
                                                : fmt::format("{}/{}", package_, file));
    }
    // `ci` counts the covered instructions of the line.
    if (name == "line") Hit(NumberOr0(element.Attribute("nr")), NumberOr0(element.Attribute("ci")));
  }
  void Close(std::string_view name) override {
    if (name == "sourcefile") lines_ = nullptr;
  }

 private:
  std::string package_;
};

class Clover final : public Handler {
 public:
  using Handler::Handler;

  void Open(const XmlElement& element) override {
    const std::string_view name = element.name();
    if (name == "coverage") saw_root_ = true;
    if (name == "file") {
      const std::string_view path = element.Attribute("path");
      lines_ = &coverage_.File(path.empty() ? element.Attribute("name") : path);
    }
    // The line of a method repeats a statement's, or has no code.
    if (name == "line" && element.Attribute("type") != "method") {
      Hit(NumberOr0(element.Attribute("num")), NumberOr0(element.Attribute("count")));
    }
  }
  void Close(std::string_view name) override {
    if (name == "file") lines_ = nullptr;
  }
};

template <typename T>
Report ReadCoverage(const ParserInput& input, std::string_view what, std::string_view root_name) {
  T handler(input.root);
  const Status read = ReadXml(ReportText(input), what, handler);
  if (!read.ok()) return Unreadable{read.error().message()};
  if (!handler.saw_root()) {
    return Unreadable{fmt::format("not {}: it has no element <{}>", what, root_name)};
  }
  return handler.Take();
}

}  // namespace

Report ParseCoberturaXml(const ParserInput& input) {
  return ReadCoverage<Cobertura>(input, "Cobertura's XML", "coverage");
}

Report ParseJacocoXml(const ParserInput& input) {
  return ReadCoverage<Jacoco>(input, "JaCoCo's XML", "report");
}

Report ParseCloverXml(const ParserInput& input) {
  return ReadCoverage<Clover>(input, "Clover's XML", "coverage");
}

}  // namespace polybox::verify

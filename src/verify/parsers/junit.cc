#include "verify/parsers/junit.h"

#include "verify/parsers/to_report.h"
#include "verify/text.h"
#include "verify/xml.h"

namespace polybox::verify {
namespace {

/// More text of one case is not kept while the case is read. The report keeps less.
constexpr std::size_t kLongestCaseText = 4 * kLongestOutput;

class Handler final : public XmlHandler {
 public:
  explicit Handler(const std::function<void(const JunitCase&)>& visit) : visit_(visit) {}

  void Open(const XmlElement& element) override;
  void Text(std::string_view text) override;
  void Close(std::string_view name) override;

  bool saw_suite() const { return saw_suite_; }
  /// Returns whether suites count failures that no case has.
  bool hides_failures() const { return declared_ > 0 && failed_ == 0; }

 private:
  void OpenSuite(const XmlElement& element);
  void OpenCase(const XmlElement& element);
  void OpenOutcome(const XmlElement& element, JunitOutcome outcome);
  void OpenStray(const XmlElement& element);
  void CloseCase();

  const std::function<void(const JunitCase&)>& visit_;
  JunitCase case_;
  bool in_case_ = false;
  /// Whether `case_` is an error outside of all cases.
  bool is_stray_ = false;
  /// Where text goes: `case_.text`, `case_.output`, or nowhere.
  std::string* text_ = nullptr;
  /// The `file` attribute of each open suite.
  std::vector<std::string> files_;
  std::vector<std::string> suites_;
  bool saw_suite_ = false;
  std::int64_t declared_ = 0;
  std::int64_t failed_ = 0;
};

void Handler::OpenSuite(const XmlElement& element) {
  saw_suite_ = true;
  suites_.emplace_back(element.Attribute("name"));
  const std::string_view file = element.Attribute("file");
  files_.emplace_back(file.empty() && !files_.empty() ? files_.back() : file);
  declared_ += NumberOr0(element.Attribute("failures")) + NumberOr0(element.Attribute("errors"));
}

void Handler::OpenCase(const XmlElement& element) {
  in_case_ = true;
  case_ = JunitCase{.suites = suites_};
  case_.class_name = element.Attribute(element.Has("class") ? "class" : "classname");
  case_.name = element.Attribute("name");
  case_.file = element.Attribute("file");
  if (case_.file.empty() && !files_.empty()) case_.file = files_.back();
  case_.line = NumberOr0(element.Attribute("line"));
  case_.status = element.Attribute("status");
  // CTest has no element for a test that is disabled.
  if (case_.status == "disabled") case_.outcome = JunitOutcome::kSkipped;
}

void Handler::OpenOutcome(const XmlElement& element, JunitOutcome outcome) {
  // A case can have a failure and an error of its clean-up. The error decides, the first message
  // stays.
  const bool is_first = case_.outcome == JunitOutcome::kPassed;
  if (is_first || outcome == JunitOutcome::kErrored) case_.outcome = outcome;
  if (is_first) {
    case_.message = element.Attribute("message");
    case_.type = element.Attribute("type");
  }
  text_ = is_first ? &case_.text : &case_.output;
}

/// Begins a case for an error outside of all cases, such as a file that could not be loaded.
void Handler::OpenStray(const XmlElement& element) {
  case_ = JunitCase{.suites = suites_};
  is_stray_ = true;
  OpenOutcome(element, JunitOutcome::kErrored);
}

void Handler::CloseCase() {
  in_case_ = false;
  is_stray_ = false;
  text_ = nullptr;
  const bool failed =
      case_.outcome == JunitOutcome::kFailed || case_.outcome == JunitOutcome::kErrored;
  failed_ += failed ? 1 : 0;
  visit_(case_);
}

void Handler::Open(const XmlElement& element) {
  const std::string_view name = element.name();
  if (name == "testsuites") {
    saw_suite_ = true;
  } else if (name == "testsuite") {
    OpenSuite(element);
  } else if (name == "testcase") {
    OpenCase(element);
  } else if (!in_case_ && saw_suite_ && name == "error") {
    OpenStray(element);
  } else if (in_case_ && name == "failure") {
    OpenOutcome(element, JunitOutcome::kFailed);
  } else if (in_case_ && name == "error") {
    OpenOutcome(element, JunitOutcome::kErrored);
  } else if (in_case_ && (name == "skipped" || name == "incomplete" || name == "risky")) {
    OpenOutcome(element, JunitOutcome::kSkipped);
  } else if (in_case_ && (name == "system-out" || name == "system-err")) {
    text_ = &case_.output;
  }
}

void Handler::Text(std::string_view text) {
  if (text_ != nullptr && text_->size() < kLongestCaseText) *text_ += text;
}

void Handler::Close(std::string_view name) {
  if (name == "testsuite" && !suites_.empty()) {
    suites_.pop_back();
    files_.pop_back();
  } else if (name == "testcase") {
    CloseCase();
  } else if (is_stray_ && name == "error") {
    CloseCase();
  } else if (name == "failure" || name == "error" || name == "skipped" || name == "system-out" ||
             name == "system-err") {
    text_ = nullptr;
  }
}

}  // namespace

Status ReadJunit(std::string_view text, std::string_view what,
                 const std::function<void(const JunitCase&)>& visit) {
  Handler handler(visit);
  POLYBOX_RETURN_IF_ERROR(ReadXml(text, what, handler));
  if (!handler.saw_suite()) return NotThis(what, "it has no element <testsuite>");
  if (handler.hides_failures()) {
    return NotThis(what, "the suites count failures, but no case has one");
  }
  return {};
}

}  // namespace polybox::verify

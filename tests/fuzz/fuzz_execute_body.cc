// The body of POST /execute, up to what the engine is asked for.
#include <set>

#include "fuzz/json_oracle.h"
#include "http/doors/execute_body.h"
#include "http/doors/execute_request.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/shell_words.h"

namespace polybox::fuzz {
namespace {

void CheckFiles(const std::vector<jail::InputFile>& files) {
  std::set<std::string> names;
  Check(!files.empty(), "the program is among the files");
  for (const jail::InputFile& file : files) {
    Check(names.insert(file.name).second, "no name is given twice", file.name);
    Check(!file.name.empty() && file.name.front() != '/', "names are relative", file.name);
    const std::string framed = "/" + file.name + "/";
    for (const char* part : {"/../", "/./", "//"}) {
      Check(framed.find(part) == std::string::npos, "names lead nowhere else", file.name);
    }
    Check(file.name.find('\0') == std::string::npos, "names have no zero byte");
  }
}

void CheckWords(const exec::Program& program) {
  for (const std::string& word : program.args) {
    Check(word.find('\0') == std::string::npos, "arguments have no zero byte");
  }
  for (const auto& [name, value] : program.env) {
    Check(!name.empty() && name.find('=') == std::string::npos, "names of variables are sane",
          name);
    Check(value.find('\0') == std::string::npos, "variables have no zero byte");
  }
  Check(!program.env.contains("OUTPUT_DIR"), "OUTPUT_DIR is the server's");
}

void CheckOrder(http::ExecuteBody body) {
  static const http::ExecuteOptions kOptions = [] {
    http::ExecuteOptions options;
    options.languages = Languages();
    options.mode = options.language = "node";
    return options;
  }();
  const auto order = http::OrderFor(std::move(body), kOptions);
  if (!order.ok()) return Check(!order.error().message().empty(), "a refusal says why");
  const auto& program = std::get<exec::Program>(order->request.work);
  CheckFiles(program.files);
  CheckWords(program);
  Check(order->timeout > Duration() && order->timeout <= kOptions.largest_timeout,
        "the timeout is within bounds");
  Check(order->request.run.memory.value_or(Bytes(1)) <= order->language->run_limits.memory,
        "no limit is raised");
}

void CheckCode(std::string_view text, const std::string& code) {
  boost::system::error_code error;
  const boost::json::value strict = boost::json::parse({text.data(), text.size()}, error);
  const boost::json::string* member = error ? nullptr : StrictMember(strict, "code");
  if (member == nullptr) return;
  Check(code == std::string_view(member->data(), member->size()), "the code is read as it stands",
        text);
}

void Run(std::string_view text) {
  CheckAgainstBoost(text);
  auto body = http::ReadExecuteBody(text);
  if (!body.ok()) {
    Check(body.error().message().starts_with("invalid request: "), "a refusal has Go's words");
    return;
  }
  if (!body->complaint.empty()) {
    Check(body->complaint.starts_with("invalid request: "), "a complaint has Go's words");
    return;
  }
  if (body->command) static_cast<void>(http::SplitShellWords(*body->command));
  if (!body->code || body->code->empty()) return;
  CheckCode(text, *body->code);
  CheckOrder(std::move(body).value());
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

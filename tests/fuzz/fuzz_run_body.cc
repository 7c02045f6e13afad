// The body of POST /v1/run, up to what the engine is asked for.
#include <set>

#include "fuzz/json_oracle.h"
#include "http/doors/run_body.h"
#include "http/doors/run_result.h"

namespace polybox::fuzz {
namespace {

/// Small limits, so that the fuzzer reaches them.
const http::RunOptions& Options() {
  static const http::RunOptions kOptions = [] {
    http::RunOptions options;
    options.languages = Languages();
    options.limits.max_files = 3;
    options.limits.max_file_size = 40;
    options.limits.max_stdin_size = 20;
    return options;
  }();
  return kOptions;
}

void CheckRequest(const exec::Request& request) {
  const http::RunBodyLimits& limits = Options().limits;
  const auto& program = std::get<exec::Program>(request.work);
  std::set<std::string> names;
  Check(!program.files.empty() && program.files.size() <= limits.max_files,
        "as many files as are allowed");
  for (const jail::InputFile& file : program.files) {
    Check(names.insert(file.name).second, "no name is given twice", file.name);
    Check(!file.name.empty() && file.name.size() <= 255 && file.name != "." && file.name != "..",
          "names are sane", file.name);
    Check(file.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos,
          "names are flat", file.name);
    Check(file.content.size() <= limits.max_file_size, "files are as large as allowed");
  }
  Check(request.input.size() <= limits.max_stdin_size, "the input is as large as allowed");
  Check(program.language == "node" || !names.contains("package.json"),
        "what the language keeps to itself is refused");
}

void Run(std::string_view text) {
  CheckAgainstBoost(text);
  auto body = http::ReadRunBody(text, Options().limits);
  if (!body || body->mistyped) return;
  const auto checked = http::CheckRunBody(*std::move(body), Options());
  if (const auto* complaint = std::get_if<http::RunComplaint>(&checked)) {
    const http::Response response = http::RunValidationError(*complaint);
    boost::system::error_code error;
    boost::json::parse(response.body, error);
    Check(response.status == 400 && !error, "a complaint is JSON", response.body);
    return;
  }
  CheckRequest(std::get<exec::Request>(checked));
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

// run_format: says which files the formatter would change, or changes them.
#include <fmt/format.h>

#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

struct RunFormatArguments : ProjectArguments {
  std::string file_path = {};
  bool apply = false;

  static constexpr auto Members() {
    return std::tuple_cat(ProjectArguments::Members(),
                          std::tuple(json::Optional("file_path", &RunFormatArguments::file_path,
                                                    "Only this file, by its own language"),
                                     json::Optional("apply", &RunFormatArguments::apply,
                                                    "Change the files, not only tell")));
  }
};

/// Returns the language of the file, unless the caller names one.
Result<std::string> LanguageOf(const VerifyCall& call, const RunFormatArguments& arguments,
                               const std::string& file) {
  if (arguments.language) return *arguments.language;
  POLYBOX_ASSIGN_OR_RETURN(const verify::Detectors* detectors, call.verification().FindDetectors());
  const verify::Detector* detector = detectors->FindByFile(file);
  if (detector != nullptr) return std::string(detector->Language());
  return Error(ErrorKind::kInvalid,
               fmt::format("run_format: no language formats files like {}", file));
}

Result<CheckAnswer> RunFormat(const Context& context, const RunFormatArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_format", arguments));
  verify::CheckRequest request = call.Request(verify::Check::kFormat);
  request.options.apply = arguments.apply;
  if (!arguments.file_path.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(request.options.file, call.FileInProject(arguments.file_path));
    POLYBOX_ASSIGN_OR_RETURN(request.language, LanguageOf(call, arguments, request.options.file));
  }
  return call.Run(request);
}

}  // namespace

Tool RunFormatTool() {
  return MakeTool<RunFormatArguments, CheckAnswer>(
      {.name = "run_format",
       .title = "Check or apply the format",
       .description = "Says what the formatter of the project would change, or changes it.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunFormat);
}

}  // namespace polybox::tools

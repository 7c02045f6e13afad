#include "preloads.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/guest_bytes.h"
#include "jail/outcome.h"

namespace polybox::cmd {
namespace {

// The length of an interpreter's error line; the rest of the output adds nothing.
constexpr std::size_t kLongestFailure = 300;

/// Returns why the program that loads a module failed; "" when it succeeded.
GuestBytes Failure(const exec::Answer& answer) {
  if (const auto* refusal = std::get_if<exec::Refusal>(&answer)) {
    const bool over = refusal->kind == exec::RefusalKind::kDraining ||
                      refusal->kind == exec::RefusalKind::kCancelled;
    return GuestBytes(over ? "" : refusal->message);
  }
  const auto& run = std::get<exec::Report>(answer).run;
  if (!run || jail::ShellCode(run->outcome) == 0) return {};
  if (!run->err.empty()) return GuestBytes(run->err.substr(0, run->err.find('\n')));
  return GuestBytes(std::string(jail::EndName(run->outcome.end)));
}

}  // namespace

Result<exec::Preloads> PreloadsOf(const config::Settings& settings, const exec::Catalog& catalog) {
  exec::Preloads preloads;
  std::string language;
  std::istringstream items(fmt::format("{}", fmt::join(settings.preload, ",")));
  // The setting is a list, and each item may be a list as well. A name without "=" belongs to the
  // language of the item before.
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t equals = item.find('=');
    if (equals != std::string::npos) language = item.substr(0, equals);
    const launch::Installation* found = catalog.Find(language);
    if (found == nullptr || found->language.warm.kind != languages::WarmKind::kZygote) {
      return Error(
                 ErrorKind::kInvalid,
                 fmt::format("preload: in \"{}\", {} is no language here that loads modules ahead",
                             item, language.empty() ? "what comes before =" : language))
          .WithFix("write it like python=numpy,pandas; Python and Ruby can, Node.js cannot");
    }
    preloads[found->language.id].push_back(equals == std::string::npos ? item
                                                                       : item.substr(equals + 1));
  }
  return preloads;
}

void CheckPreloads(const exec::EngineOptions& options, const PreloadCheck& check,
                   const log::Logger& log) {
  if (options.preloads.empty()) return;
  // Zygotes need namespaces. The server starts anyway, because the modules can still be imported.
  if (!options.warm || !jail::HasNamespaces(check.grade)) {
    return log.Warn("preload has no effect: no interpreter is started ahead",
                    {{"warm", options.warm}, {"isolation", jail::GradeName(check.grade)}});
  }
  for (const auto& [id, modules] : options.preloads) {
    const languages::Language& language = check.catalog.Find(id)->language;
    if (language.warm.preload_check.empty()) continue;
    for (const std::string& module : modules) {
      exec::Request request;
      request.lane = check.lane;
      exec::Program program;
      program.language = id;
      program.files = {{language.entry.file, language.warm.preload_check, 0644}};
      program.args = {module};
      request.work = std::move(program);
      check.engine.Submit(std::move(request), [id, module, log](const exec::Answer& answer) {
        const GuestBytes failure = Failure(answer);
        if (failure.empty()) return;
        log.Warn(
            "preload: a module cannot be loaded ahead",
            {{"language", id}, {"module", module}, {"error", failure.Escaped(kLongestFailure)}});
      });
    }
  }
}

}  // namespace polybox::cmd

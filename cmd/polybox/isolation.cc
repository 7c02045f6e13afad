#include "isolation.h"

#include "sys/host_facts.h"

namespace polybox::cmd {

Result<exec::Descent> DescentFor(const config::Settings& settings) {
  return exec::Descent::From(jail::CheckHost(sys::ProbeHost()),
                             {.minimum = *jail::ParseGrade(settings.min_isolation),
                              // "auto" is the name of no grade and gives nothing: then every grade
                              // from `minimum` up is allowed.
                              .wanted = jail::ParseGrade(settings.isolation)});
}

void TellPassedOver(const exec::Descent& descent, const log::Logger& log) {
  // Weaker isolation is never silent: an operator must be able to see it in the log.
  for (const std::string& why : descent.passed_over()) {
    log.Warn("a stronger isolation grade does not work on this host",
             {{"why", why}, {"instead", jail::GradeName(descent.rung().grade)}});
  }
}

Result<launch::JailHome> HomeFor(const config::Settings& settings, const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(exec::Descent descent, DescentFor(settings));
  POLYBOX_ASSIGN_OR_RETURN(launch::JailHome home, exec::FindGround(descent));
  TellPassedOver(descent, log);
  home.SetReuse(settings.reuse == "on");
  return home;
}

}  // namespace polybox::cmd

#include "isolation.h"

#include "sys/host_facts.h"

namespace polybox::cmd {

Result<jail::Grade> GradeFor(const config::Settings& settings) {
  return jail::ChooseGrade(jail::CheckHost(sys::ProbeHost()),
                           {.minimum = *jail::ParseGrade(settings.min_isolation),
                            .wanted = jail::ParseGrade(settings.isolation)});
}

}  // namespace polybox::cmd

#include "installed.h"

#include <cstdlib>

#include "languages/builtin.h"

namespace polybox::cmd {

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? "" : path;
}

Result<languages::Registry> LoadRegistry(const config::Settings& settings) {
  return languages::Registry::Load(
      // Files of the operator come after the built-in ones and therefore replace them.
      languages::BuiltinFiles(), settings.languages_dir,
      {.run = settings.run_memory, .compile = settings.compile_memory});
}

languages::FinderOptions FinderFor(const config::Settings& settings) {
  return {.path = SearchPath(),
          // All commands share this file, so `polybox run` does not ask a toolchain that the server
          // has asked.
          .cache_file = settings.cache_dir + "/toolchains.json",
          .packages_dir = settings.packages_dir};
}

Result<Installed> LoadInstalled(const config::Settings& settings, const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(languages::Registry registry, LoadRegistry(settings));
  languages::Toolchains toolchains =
      languages::FindToolchains(registry.all(), FinderFor(settings), log);
  return Installed{std::move(registry), std::move(toolchains)};
}

}  // namespace polybox::cmd

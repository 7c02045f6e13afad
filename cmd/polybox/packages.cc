#include "packages.h"

#include <cstdlib>

namespace polybox::cmd {
namespace {

std::string Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

packages::PackageSourceOptions PackagesOf(const config::Settings& settings) {
  return {.directory = settings.cache_dir + "/package-sets",
          .size = settings.package_cache_size,
          .egress_allow = settings.egress_allow,
          .indexes = {{"uv", settings.python_index}, {"npm", settings.node_registry}},
          .scripts = settings.npm_scripts == "on",
          .variable = Variable};
}

}  // namespace polybox::cmd

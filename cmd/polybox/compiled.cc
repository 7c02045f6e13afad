#include "compiled.h"

namespace polybox::cmd {

std::unique_ptr<exec::CompileCache> OpenCompileCache(const config::Settings& settings,
                                                     const log::Logger& log) {
  if (settings.compile_cache == "off") return nullptr;
  const std::string& asked = settings.compile_cache_dir;
  auto cache = exec::CompileCache::Open(
      {.directory = asked.empty() ? settings.cache_dir + "/compiled" : asked,
       .size = settings.compile_cache_size},
      log);
  if (cache.ok()) return std::move(cache).value();
  log.Warn("there is no compile cache", {{"reason", cache.error().message()}});
  return nullptr;
}

std::unique_ptr<exec::Preparer> OpenPreparer(const exec::JailHome& home, exec::Preparer::Mode mode,
                                             const Context& context) {
  const config::Settings& settings = context.config.settings;
  if (settings.compile_cache == "off") return nullptr;
  auto preparer = exec::Preparer::Open(
      home, {.directory = settings.cache_dir + "/prepared", .mode = mode}, context.log);
  if (preparer.ok()) return std::move(preparer).value();
  context.log.Warn("compile steps find nothing ready", {{"reason", preparer.error().message()}});
  return nullptr;
}

}  // namespace polybox::cmd

#include "caches.h"

#include <cerrno>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "sys/disk_space.h"

namespace polybox::cmd {
namespace {

/// The same limit as for /readyz: an answer of the largest size must still fit.
constexpr Bytes kLeastFree = Bytes::MiB(64);

/// Makes the directory if necessary. The error says why this user cannot write there.
Status MakeWritable(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Error::FromErrno("make " + directory, error.value());
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return Error::FromErrno("write to " + directory);
}

/// Returns the text of a warning. It is not an error of the command, which works without a cache.
Error NotKept(std::string_view what, const Error& reason, std::string_view setting) {
  return Error(ErrorKind::kUnavailable, fmt::format("{}: {}", what, reason.message()))
      .WithFix(
          fmt::format("let this user write there, or name another directory with --{}", setting));
}

}  // namespace

/// A full disk is told only once, at the start. /readyz reports it while the server runs.
Caches::Caches(const Context& context, Warn warn) : context_(context), warn_(std::move(warn)) {
  const Status made = MakeWritable(context.config.settings.cache_dir);
  usable_ = made.ok();
  if (!usable_) {
    warn_(NotKept("there is no cache, which costs time", made.error(), "cache-dir"));
    return;
  }
  const std::string wrong = sys::WrongWithDisk(context.config.settings.cache_dir, kLeastFree);
  if (wrong.empty()) return;
  warn_(
      Error(ErrorKind::kUnavailable,
            fmt::format("the disk of the cache directory {} {}: programs run, but nothing more is "
                        "kept and no packages are installed",
                        context.config.settings.cache_dir, wrong))
          .WithFix("make room there, or name another directory with --cache-dir"));
}

std::unique_ptr<compile::CompileCache> Caches::OpenCompileCache() const {
  const config::Settings& settings = context_.config.settings;
  const std::string& asked = settings.compile_cache_dir;
  // The setting compile-cache-dir may name a directory on another disk, which works without the
  // cache directory.
  if (settings.compile_cache == "off" || (asked.empty() && !usable_)) return nullptr;
  auto cache = compile::CompileCache::Open(
      {.directory = asked.empty() ? settings.cache_dir + "/compiled" : asked,
       .size = settings.compile_cache_size},
      context_.log);
  if (cache.ok()) return std::move(cache).value();
  warn_(NotKept("there is no compile cache, which costs time", cache.error(), "compile-cache-dir"));
  return nullptr;
}

std::unique_ptr<compile::Preparer> Caches::OpenPreparer(const launch::JailHome& home,
                                                        compile::Preparer::Mode mode) const {
  const config::Settings& settings = context_.config.settings;
  if (settings.compile_cache == "off" || !usable_) return nullptr;
  auto preparer = compile::Preparer::Open(
      home, {.directory = settings.cache_dir + "/prepared", .mode = mode}, context_.log);
  if (preparer.ok()) return std::move(preparer).value();
  warn_(
      NotKept("compile steps find nothing ready, which costs time", preparer.error(), "cache-dir"));
  return nullptr;
}

Result<std::unique_ptr<packages::PackageSource>> Caches::OpenPackages(
    const launch::JailHome& home, packages::PackageSourceOptions options) const {
  constexpr std::string_view kWhat = "packages cannot be installed on request";
  std::unique_ptr<packages::PackageSource> none;
  if (!usable_) {
    warn_(NotKept(kWhat, Error(ErrorKind::kUnavailable, "there is no cache"), "cache-dir"));
    return none;
  }
  auto source = packages::MakePackageSource(home, std::move(options), context_.log);
  // A bad setting is reported as an error, because it is no problem of the cache.
  if (source.ok() || source.error().kind() == ErrorKind::kInvalid) return source;
  warn_(NotKept(kWhat, source.error(), "cache-dir"));
  return none;
}

}  // namespace polybox::cmd

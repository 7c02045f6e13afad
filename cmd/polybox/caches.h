// Opens the caches that polybox keeps between runs, at the paths of the settings. polybox works
// without a cache, only slower, and warns once. Only packages on request need the cache directory.
#pragma once

#include <functional>
#include <memory>

#include "command.h"
#include "compile/compile_cache.h"
#include "compile/preparer.h"
#include "packages/package_source.h"

namespace polybox::cmd {

class Caches {
 public:
  /// Called with the reason why something is not cached. The error contains the fix.
  using Warn = std::function<void(const Error&)>;

  /// Makes and checks the cache directory. `context` must outlive this object.
  Caches(const Context& context, Warn warn);

  /// Returns whether there is a writable cache directory.
  bool usable() const { return usable_; }

  /// Returns null when the compile cache is off or cannot be opened.
  std::unique_ptr<compile::CompileCache> OpenCompileCache() const;
  /// Opens the cache of files that are prepared for compile steps; null when it is off or cannot be
  /// opened. `home` must outlive it.
  std::unique_ptr<compile::Preparer> OpenPreparer(const launch::JailHome& home,
                                                  compile::Preparer::Mode mode) const;
  /// Returns null when there is no directory for packages of requests. `home` must outlive the
  /// result.
  Result<std::unique_ptr<packages::PackageSource>> OpenPackages(
      const launch::JailHome& home, packages::PackageSourceOptions options) const;

 private:
  const Context& context_;
  Warn warn_;
  bool usable_ = false;
};

}  // namespace polybox::cmd

// What polybox keeps between runs, where the settings say. Whatever cannot be kept only costs time,
// which is said once; but for packages on request, which have no other place.
#pragma once

#include <functional>
#include <memory>

#include "command.h"
#include "exec/compile_cache.h"
#include "exec/package_source.h"
#include "exec/preparer.h"

namespace polybox::cmd {

class Caches {
 public:
  /// Hears what is not kept and why; the error carries the fix.
  using Warn = std::function<void(const Error&)>;

  /// Looks at the cache directory. `context` must outlive it.
  Caches(const Context& context, Warn warn);

  /// Whether there is a cache directory that can be written.
  bool usable() const { return usable_; }

  /// Null when it is off, or cannot be opened.
  std::unique_ptr<exec::CompileCache> OpenCompileCache() const;
  /// The same for what compile steps find ready, which is kept beside it. `home` must outlive it.
  std::unique_ptr<exec::Preparer> OpenPreparer(const exec::JailHome& home,
                                               exec::Preparer::Mode mode) const;
  /// Null when there is no place for packages of requests. `home` must outlive it.
  Result<std::unique_ptr<exec::PackageSource>> OpenPackages(
      const exec::JailHome& home, exec::PackageSourceOptions options) const;

 private:
  const Context& context_;
  Warn warn_;
  bool usable_ = false;
};

}  // namespace polybox::cmd

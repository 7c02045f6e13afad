// The languages of the catalog as the slots of one engine show them. An installation has the
// guests' network, the interpreter that starts ahead, and the packages of a request. Immutable; any
// thread.
#pragma once

#include <map>
#include <string>

#include "exec/catalog.h"
#include "exec/engine.h"
#include "jail/grade.h"
#include "launch/launch.h"
#include "packages/package_source.h"

namespace polybox::exec {

class Installations {
 public:
  /// The catalog and the options must outlive this object. `grade` is that of the slots.
  Installations(const Catalog& catalog, const EngineOptions& options, jail::Grade grade);

  /// Returns the language without packages of a request; null if the catalog lacks it.
  const launch::Installation* Find(const std::string& language) const;
  /// Returns the language with the packages of a request. `known` is from the catalog.
  launch::Installation WithSet(const launch::Installation& known,
                               const packages::PackageSet& set) const;

  /// Returns the pool's key for slots of the installation. Slots with the same key show the same
  /// files.
  static std::string KeyOf(const launch::Installation& installation);

 private:
  /// Returns `known` with the network that the operator allows to guests.
  launch::Installation WithEgress(launch::Installation known) const;
  /// Returns `known` with the interpreter that its slots start before a program arrives.
  launch::Installation WithWarmStart(launch::Installation known) const;

  const EngineOptions& options_;
  const jail::Grade grade_;
  /// By language id.
  std::map<std::string, launch::Installation> ready_;
};

}  // namespace polybox::exec

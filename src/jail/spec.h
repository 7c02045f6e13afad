// What a slot shows to its guests: plain data, from which plan.h makes the steps that build it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace polybox::jail {

/// The guest's working directory and home.
inline constexpr const char* kWorkDirectory = "/sandbox";
/// Where the package set of a language is shown.
inline constexpr const char* kPackagesDirectory = "/packages";

/// A directory or file of the host that guests see, read-only.
struct Tree {
  std::string source;
  /// Absolute, as the guest sees it.
  std::string target;
  bool is_file = false;

  bool operator==(const Tree&) const = default;
};

struct Spec {
  /// Made by root: trees are opened by the server and handed in, and guests get host uids of their
  /// own. Otherwise the slot init binds what our own uid can see, and guests are that uid without
  /// any rights.
  bool privileged = true;
  std::vector<Tree> trees;
  /// Absolute path to what it points to: /bin to usr/bin.
  std::map<std::string, std::string> symlinks;
  /// Loopback is up, and on its port init::kEgressPort listens what Slot::TakeEgress() hands out:
  /// the only way out there can be.
  bool egress = false;
  /// The working directory, /tmp and /dev/shm each.
  Bytes scratch = Bytes::MiB(64);
  std::uint64_t scratch_inodes = 32768;
};

/// The trees and links that every guest needs to run programs of this host: /usr with its links,
/// the loader's cache, certificates, time zones, a few devices. Looks at the host.
Spec HostSpec();

/// Adds `path` of the host at the same place, if it exists; `*` matches within one component.
void ShowPath(Spec& spec, const std::string& path);

}  // namespace polybox::jail

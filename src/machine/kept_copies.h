// Copies of protected files that cannot be read-only in a jail: all of them in grades without
// namespaces, and elsewhere those with several hard links. What a command has changed is found by
// comparing contents, and put back. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "machine/protected_trees.h"
#include "workspace/act_as_owner.h"
#include "workspace/content_hash.h"

namespace polybox::machine {

/// Something that a command has changed.
struct Damage {
  enum class Kind { kChanged, kRemoved, kAdded };

  Kind kind = Kind::kChanged;
  TreePath place;
  /// The new path of what the command has made; "" if nothing is there.
  std::string aside;
  /// Whether the file is as before.
  Status restored;
};

class KeptCopies {
 public:
  /// Larger files are only compared: copies are in memory, for as long as the machine exists.
  static constexpr Bytes kLargestCopy = Bytes::MiB(1);
  static constexpr Bytes kMostBytes = Bytes::MiB(32);
  /// How many files of one protected directory are compared.
  static constexpr std::size_t kMostFiles = 20'000;

  KeptCopies(const std::vector<GuardedTree>& trees, workspace::Owner owner)
      : trees_(trees), owner_(owner) {}

  /// Copies the protected file or directory at `place`. Replaces an earlier copy.
  void Keep(const TreePath& place);
  void Forget(const TreePath& place);
  void ForgetAll() { kept_.clear(); }
  bool Has(const TreePath& place) const { return kept_.contains(place); }
  bool empty() const { return kept_.empty(); }
  /// Compares all copies, and puts back what differs. The other content is moved aside.
  std::vector<Damage> Restore();

 private:
  struct Copy {
    mode_t mode = 0;
    workspace::ContentHash hash{};
    /// The content of a file, or the target of a link.
    std::string content;
    bool has_content = false;
  };
  /// By the path from the root of the tree.
  using Copies = std::map<std::string, Copy>;

  Copies Read(const TreePath& place);
  Copy ReadOne(int directory, const std::string& name, const struct stat& info);
  std::vector<Damage> Compare(const TreePath& place, const Copies& kept);
  void PutBack(const std::string& path, const Copy& copy, Damage& damage) const;

  const std::vector<GuardedTree>& trees_;
  const workspace::Owner owner_;
  std::map<TreePath, Copies> kept_;
  /// The size of all copies.
  std::uint64_t used_ = 0;
};

}  // namespace polybox::machine

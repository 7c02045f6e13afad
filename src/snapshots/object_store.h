// A directory of objects as git has one: each object in a file "ab/cdef...". It is the store of
// snapshots, or `objects` of a repository that commands can write; so no link in it is followed.
// Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "snapshots/git_object.h"

namespace polybox::snapshots {

/// A file with more bytes is not saved: its content is held in memory while it is compressed.
inline constexpr Bytes kLargestFile = Bytes::MiB(64);

class ObjectStore {
 public:
  /// `directory` is open for reading.
  explicit ObjectStore(UniqueFd directory) : directory_(std::move(directory)) {}

  bool Has(const ObjectId& id) const;
  /// Stores an object in one step, unless it is there.
  Status Put(ObjectType type, const ObjectId& id, std::string_view content) const;
  /// Fails if the object is missing or damaged.
  Result<std::string> Get(ObjectType type, const ObjectId& id) const;
  /// Stores in `other` the object as it is compressed here, unless it is there.
  Status CopyTo(const ObjectStore& other, const ObjectId& id) const;

  std::vector<ObjectId> All() const;
  void Remove(const ObjectId& id) const;

 private:
  Result<std::string> Load(const ObjectId& id) const;

  UniqueFd directory_;
};

}  // namespace polybox::snapshots

#include "snapshots/object_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "sys/write_beneath.h"

namespace polybox::snapshots {
namespace {

/// Trees are stored in one object for each directory, which has at most some 100,000 entries.
/// Content that cannot be compressed grows a little.
constexpr Bytes kLargestObject = Bytes(kLargestFile.count() + (1U << 20U));
/// More objects than the largest snapshots together have.
constexpr std::size_t kMostObjects = 20'000'000;

/// Returns "ab/cdef...".
std::string PathOf(const ObjectId& id) {
  return Hex(id).insert(2, "/");
}

}  // namespace

bool ObjectStore::Has(const ObjectId& id) const {
  const Result<UniqueFd> file = sys::OpenBeneath(directory_.get(), PathOf(id), O_RDONLY);
  struct stat info{};
  return file.ok() && ::fstat(file->get(), &info) == 0 && S_ISREG(info.st_mode);
}

Status ObjectStore::Put(ObjectType type, const ObjectId& id, std::string_view content) const {
  if (Has(id)) return {};
  return sys::WriteBeneath(directory_.get(), PathOf(id), Compress(type, content),
                           sys::Existing::kReplace);
}

Result<std::string> ObjectStore::Load(const ObjectId& id) const {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file,
                           sys::OpenBeneath(directory_.get(), PathOf(id), O_RDONLY));
  return ReadAll(file.get(), kLargestObject).In("read the stored object " + Hex(id));
}

Result<std::string> ObjectStore::Get(ObjectType type, const ObjectId& id) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string compressed, Load(id));
  return Decompress(compressed, type, id, kLargestObject);
}

Status ObjectStore::CopyTo(const ObjectStore& other, const ObjectId& id) const {
  if (other.Has(id)) return {};
  POLYBOX_ASSIGN_OR_RETURN(const std::string compressed, Load(id));
  return sys::WriteBeneath(other.directory_.get(), PathOf(id), compressed, sys::Existing::kReplace);
}

std::vector<ObjectId> ObjectStore::All() const {
  std::vector<ObjectId> ids;
  const sys::TreeVisitor visitor = {
      .entry = [&](const sys::TreeEntry& entry) -> Status {
        std::string digits = entry.path;
        std::erase(digits, '/');
        if (const auto id = ParseHex(digits)) ids.push_back(*id);
        return {};
      },
      .skipped = [](const std::string& /*path*/, std::string_view /*why*/) { return Status(); }};
  // The visitor never fails.
  std::ignore =
      sys::WalkGuestTree(directory_.get(), {.depth = 1, .entries = kMostObjects}, visitor);
  return ids;
}

void ObjectStore::Remove(const ObjectId& id) const {
  ::unlinkat(directory_.get(), PathOf(id).c_str(), 0);
}

}  // namespace polybox::snapshots

// The objects of git: blobs, trees and commits, as bytes. No git program runs, and no repository is
// asked, so nothing in a repository can influence these functions. Pure functions, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace polybox::snapshots {

/// The SHA-1 name of an object.
struct ObjectId {
  std::array<std::uint8_t, 20> bytes{};

  auto operator<=>(const ObjectId&) const = default;
};

/// Returns 40 hexadecimal digits.
std::string Hex(const ObjectId& id);
/// Returns nothing unless `text` has exactly 40 lower-case hexadecimal digits.
std::optional<ObjectId> ParseHex(std::string_view text);

enum class ObjectType { kBlob, kTree, kCommit };

/// Returns the name of an object with this content.
ObjectId IdOf(ObjectType type, std::string_view content);

/// Returns the object as git stores it in a file of its own: compressed, with a header.
std::string Compress(ObjectType type, std::string_view content);
/// Returns the content of a compressed object. Fails unless its type and its name are the given
/// ones, or if it has more than `largest` bytes.
Result<std::string> Decompress(std::string_view compressed, ObjectType type, const ObjectId& id,
                               Bytes largest);

/// What a tree says of an entry. The numbers are those of git.
enum class EntryMode : std::uint32_t {
  kDirectory = 040000,
  kFile = 0100644,
  kExecutable = 0100755,
  kLink = 0120000,
};

struct TreeEntry {
  EntryMode mode = EntryMode::kFile;
  std::string name = {};
  ObjectId id = {};
};

/// Returns the content of a tree object. Sorts the entries as git does.
std::string TreeContent(std::vector<TreeEntry> entries);
/// Fails for an entry of another mode, and for a name that is no name of a file.
Result<std::vector<TreeEntry>> ParseTree(std::string_view content);

/// A commit without parents.
struct Commit {
  ObjectId tree = {};
  /// Seconds since 1970.
  std::int64_t time = 0;
  std::string message = {};
};

std::string CommitContent(const Commit& commit);
Result<Commit> ParseCommit(std::string_view content);

}  // namespace polybox::snapshots

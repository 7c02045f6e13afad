// The file format of an entry in the compile cache. The file begins with the contents of the files
// in the working directory, one after the other, as jail::Slot::PutPacked() takes them. A manifest
// follows, which lists the files and the compiler's output. A trailer at the end makes it possible
// to recognise an incomplete file. A file never changes after it got its name. Used by
// compile_cache.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/outcome.h"
#include "jail/slot.h"
#include "launch/streams.h"

namespace polybox::compile {

/// A part of the compiler's output; parts are in the order of arrival.
struct Said {
  launch::Stream stream = launch::Stream::kOut;
  std::string text;
};

/// An entry as read from the cache.
struct CompiledEntry {
  /// A descriptor of the entry, open for reading. The files' contents begin at offset 0.
  UniqueFd file;
  /// Names, modes and sizes of the files, in the order of their contents.
  std::vector<jail::FileHeader> files;
  std::vector<Said> said;
  /// Time and memory that the compiler used when it ran.
  jail::Outcome outcome;
  /// SHA-256 of the contents.
  std::string digest;
};

/// Limits of one entry.
struct EntryLimits {
  Bytes bytes = Bytes::MiB(64);
  /// The number of files. All names must fit into one message to a slot.
  std::size_t files = 2048;
};

/// What an entry contains in addition to the directory that the compiler left.
struct EntryContext {
  const std::string& key;
  /// The files that were put into the directory before the compiler ran. They come first in the
  /// entry, in this order.
  const std::vector<jail::InputFile>& inputs;
  const std::vector<Said>& said;
  const jail::Outcome& outcome;
};

/// Writes everything below `directory` (from jail::Slot::OpenDirectory) to `file`, which must be
/// empty. Both are borrowed. An error of kind kInvalid says what cannot be stored: a link that is
/// not one of the inputs, a device, or too much data.
Status WriteEntry(int file, int directory, const EntryContext& context, const EntryLimits& limits);

/// Reads the manifest and the trailer, not the contents. An error means that the file is damaged,
/// or that it is the entry of another key.
Result<CompiledEntry> ReadEntry(UniqueFd file, const std::string& key);

/// Returns whether the contents have the digest of the manifest. Reads all of them.
bool ContentsAreWhole(const CompiledEntry& entry);

}  // namespace polybox::compile

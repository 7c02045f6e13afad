// What a successful compile step left behind, as one file: the contents of the working directory
// one after the other, as a slot takes them, then a manifest that says what they are and what the
// compiler said, then a trailer by which a torn file is recognised. Never changed once it has its
// name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/request.h"
#include "jail/init/protocol.h"
#include "jail/outcome.h"
#include "jail/slot.h"

namespace polybox::exec {

/// A part of what the compiler said, in the order of arrival.
struct Said {
  Stream stream = Stream::kOut;
  std::string text;
};

struct CompiledEntry {
  /// Open for reading; the contents begin at its start.
  UniqueFd file;
  std::vector<jail::init::FileHeader> files;
  std::vector<Said> said;
  /// What the compiler used when it ran.
  jail::Outcome outcome;
  /// Of the contents.
  std::string digest;
};

struct EntryLimits {
  Bytes bytes = Bytes::MiB(64);
  /// All names must fit into one message to a slot.
  std::size_t files = 2048;
};

/// What is to be kept, beside the directory that a compiler left.
struct EntryContext {
  const std::string& key;
  /// As they were put into the directory: they come first, in this order.
  const std::vector<jail::InputFile>& inputs;
  const std::vector<Said>& said;
  const jail::Outcome& outcome;
};

/// Writes what is below `directory` (from jail::Slot::OpenDirectory) to `file`, which is empty;
/// both borrowed. An error of kind kInvalid says what cannot be kept: another link than those of
/// the inputs, a device, too much.
Status WriteEntry(int file, int directory, const EntryContext& context, const EntryLimits& limits);

/// Reads manifest and trailer. An error means that the file is torn, or not that of `key`.
Result<CompiledEntry> ReadEntry(UniqueFd file, const std::string& key);

/// Whether the contents are those that were written: reads them all.
bool ContentsAreWhole(const CompiledEntry& entry);

}  // namespace polybox::exec

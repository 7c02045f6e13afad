// Decides which file of a program runs first, and in which language. Used by program_files.h. Has
// no side effects; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/slot.h"
#include "languages/registry.h"

namespace polybox::exec {

/// What the person on the command line asked for.
struct EntryQuery {
  /// The path that the person named, for messages.
  std::string shown;
  /// The name of the entry in the working directory; "" if the person named none.
  std::string entry = {};
  /// An id or alias of a language; "" if the entry decides.
  std::string language = {};
  /// Whether the files come from a directory. Then the first file is not the one that the person
  /// named.
  bool is_directory = false;
};

/// The choice: the entry's index in the files, and its language.
struct ChosenEntry {
  std::size_t index = 0;
  const languages::Language* language = nullptr;
};

/// Chooses the entry. An error of kind kInvalid lists the possible choices. `files` may be empty
/// only if they come from a directory.
Result<ChosenEntry> ChooseEntry(const languages::Registry& registry,
                                const std::vector<jail::InputFile>& files, const EntryQuery& query);

}  // namespace polybox::exec

// Writes a file of a workspace in one step: a reader sees the old content or the new, never a part.
// The content is first written to a file of the same directory that has no name, or a temporary
// one. If anything fails, the workspace is as before. Any thread; the lock Workspace::writes() is
// held while a file is replaced.
#pragma once

#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/result.h"
#include "workspace/resolve.h"

namespace polybox::workspace {

/// What happens to the executable bits.
enum class ModeBits {
  kKeep,        ///< Those of the old file; none for a new one.
  kPlain,       ///< None.
  kExecutable,  ///< For all who can read the file.
};

/// What happens to an entry that has the name already.
enum class OldEntry {
  kRefuse,   ///< CreateFile() fails with EEXIST.
  kReplace,  ///< The new file takes its place, whatever it is. A directory stays, and it fails.
};

struct NewFile {
  ModeBits bits = ModeBits::kKeep;
  OldEntry replace = OldEntry::kRefuse;
};

/// Makes a file that does not exist yet, with its missing directories. Fails with EEXIST if another
/// process makes it first. `shown` is the path for messages, which begin with "mkdir" or "write".
Status CreateFile(const Place& place, const std::string& shown, std::string_view content,
                  const NewFile& options = {});

/// Makes a symbolic link with its missing directories, in place of an entry that is no directory.
Status PutLink(const Place& place, const std::string& shown, const std::string& target);

/// Replaces the content of the file that is open as `existing` (borrowed, for reading). Mode, owner
/// and extended attributes are kept, but not set-uid bits, as with write(2). Other hard links of
/// the file keep the old content: they may be those of another project. Fails with "write: ...".
Status ReplaceContent(const Place& place, const std::string& shown, int existing,
                      std::string_view content, ModeBits bits = ModeBits::kKeep);

/// Gives the entry `from` the name `name` in `directory` (borrowed), where no entry may have this
/// name: fails with EEXIST if one has. Other failures have the errno of rename().
Status MoveEntry(const Place& from, int directory, const std::string& name);

/// The directories that are made for the missing components of a place. Removes them again when it
/// is destroyed, unless Keep() is called.
class NewDirectories {
 public:
  /// Makes the directories. Fails with "mkdir: ...".
  static Result<NewDirectories> Make(const Place& place, const std::string& shown);
  NewDirectories(NewDirectories&&) = default;
  NewDirectories& operator=(NewDirectories&&) = delete;
  ~NewDirectories();

  /// The directory for the entry itself.
  int innermost() const { return levels_.back().get(); }
  void Keep() { names_.clear(); }

 private:
  NewDirectories() = default;

  /// levels_[i + 1] is the directory names_[i] in levels_[i].
  std::vector<UniqueFd> levels_;
  std::vector<std::string> names_;
};

}  // namespace polybox::workspace

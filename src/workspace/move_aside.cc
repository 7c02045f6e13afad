#include "workspace/move_aside.h"

#include <cerrno>
#include <fcntl.h>

#include <fmt/format.h>

#include "workspace/protected_scan.h"
#include "workspace/put_file.h"

namespace polybox::workspace {

Result<std::string> MoveAside(int root, const std::string& path, const Owner& owner) {
  POLYBOX_ASSIGN_OR_RETURN(const ActAsOwner acting, ActAsOwner::Begin(owner));
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash);
  Place place;
  place.name = slash == std::string::npos ? path : path.substr(slash + 1);
  place.path = path;
  POLYBOX_ASSIGN_OR_RETURN(place.parent, OpenInTree(root, directory, O_PATH | O_DIRECTORY));
  for (int number = 1; number <= kMostAside; ++number) {
    const std::string suffix = fmt::format("{}{}", kAsideSuffix, number);
    const Status moved = MoveEntry(place, place.parent.get(), place.name + suffix);
    if (moved.ok()) return path + suffix;
    if (moved.error().system_errno() != EEXIST) return moved.error();
  }
  return Error::FromErrno("move aside " + path, EMFILE);
}

}  // namespace polybox::workspace

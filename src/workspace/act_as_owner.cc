#include "workspace/act_as_owner.h"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

namespace polybox::workspace {
namespace {

/// setfsuid() and setfsgid() report no failure. A second call, with an id that never exists,
/// returns the id that holds now.
constexpr auto kAsk = static_cast<uid_t>(-1);

/// A change of file ids makes the whole process undumpable, and its files in /proc then belong to
/// root. Makes it dumpable again if it was before the first change.
void RestoreDumpable(bool was_dumpable) {
  if (was_dumpable) ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/// Returns whether the process was dumpable when this function was called first.
bool WasDumpable() {
  static const bool dumpable = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  return dumpable;
}

}  // namespace

Result<ActAsOwner> ActAsOwner::Begin(const Owner& owner) {
  if (::geteuid() != 0 || owner.uid == 0) return ActAsOwner(false);
  const bool was_dumpable = WasDumpable();
  // The group comes first: without root's file ids, the thread may not change its group.
  ::setfsgid(owner.gid);
  ::setfsuid(owner.uid);
  const bool done = static_cast<uid_t>(::setfsuid(kAsk)) == owner.uid &&
                    static_cast<gid_t>(::setfsgid(kAsk)) == owner.gid;
  RestoreDumpable(was_dumpable);
  ActAsOwner acting(true);
  if (done) return acting;
  return Error(ErrorKind::kUnavailable,
               fmt::format("cannot access files as the owner of the workspace (uid {}, gid {})",
                           owner.uid, owner.gid))
      .WithFix("start polybox as that user, or give it CAP_SETUID and CAP_SETGID");
}

ActAsOwner::ActAsOwner(ActAsOwner&& other) noexcept
    : changed_(std::exchange(other.changed_, false)) {}

ActAsOwner::~ActAsOwner() {
  if (!changed_) return;
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
  RestoreDumpable(WasDumpable());
}

}  // namespace polybox::workspace

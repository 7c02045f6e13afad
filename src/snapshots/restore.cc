#include "snapshots/restore.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "sys/guest_tree.h"
#include "workspace/glob_pattern.h"
#include "workspace/put_file.h"
#include "workspace/system_text.h"

namespace polybox::snapshots {
namespace {

constexpr std::string_view kIgnoreFile = ".gitignore";

bool IsIgnoreFile(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1) == kIgnoreFile;
}

/// Returns the place of `path`, which is relative and has no links in it. Fails if a directory on
/// the way is something else.
Result<workspace::Place> PlaceOf(const workspace::Workspace& workspace, const std::string& path) {
  workspace::Place place;
  place.path = path;
  POLYBOX_ASSIGN_OR_RETURN(
      place.parent, sys::OpenBeneath(workspace.root().directory, ".", O_RDONLY | O_DIRECTORY));
  const std::vector<std::string_view> names = workspace::SplitPath(path);
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    std::string name(names[i]);
    Result<UniqueFd> inner =
        place.missing.empty() ? sys::OpenBeneath(place.parent.get(), name, O_RDONLY | O_DIRECTORY)
                              : Error::FromErrno("open", ENOENT);
    if (!inner.ok() && inner.error().system_errno() != ENOENT) return std::move(inner).error();
    if (inner.ok()) {
      place.parent = std::move(inner).value();
    } else {
      place.missing.push_back(std::move(name));
    }
  }
  place.name = names.back();
  return place;
}

/// One restoration. One thread; used once.
class Restoration {
 public:
  explicit Restoration(const RestoreRequest& request) : request_(request) {}

  Result<RestoreReport> Run() {
    const std::vector<Change> changes = Compare(request_.present.files, request_.target);
    // The ignore files of the snapshot come first: they say which other files may be removed.
    for (const Change& change : changes) {
      if (IsIgnoreFile(change.path) && change.after) Write(change);
    }
    POLYBOX_RETURN_IF_ERROR(RemoveAll(changes));
    for (const Change& change : changes) {
      if (!IsIgnoreFile(change.path) && change.after) Write(change);
    }
    std::ranges::sort(report_.changed, {}, &Change::path);
    std::ranges::sort(report_.kept, {}, &RestoreReport::Kept::path);
    return std::move(report_);
  }

 private:
  void Keep(const std::string& path, std::string why) {
    report_.kept.push_back({path, std::move(why)});
  }

  /// Returns why the entry must stay as it is, or "".
  std::string ReasonToKeep(const Change& change) const {
    if (const workspace::ProtectedPath* row = request_.workspace.protection().Find(change.path)) {
      return "protected, because " + row->reason;
    }
    const bool link = change.after && change.after->mode == EntryMode::kLink;
    if (const workspace::ProtectedPath* row =
            link ? request_.workspace.protection().FindAbove(change.path) : nullptr) {
      return "protected, because " + row->reason;
    }
    const auto* left_out = request_.present.FindLeftOut(change.path);
    if (left_out == nullptr) return "";
    if (left_out->first == change.path) return left_out->second;
    return fmt::format("{} is {}", left_out->first, left_out->second);
  }

  void Write(const Change& change) {
    if (std::string why = ReasonToKeep(change); !why.empty()) return Keep(change.path, why);
    const Status done = TryWrite(change);
    if (!done.ok()) return Keep(change.path, done.error().message());
    report_.changed.push_back(change);
  }

  Status TryWrite(const Change& change) {
    POLYBOX_ASSIGN_OR_RETURN(const std::string content,
                             request_.objects.Get(ObjectType::kBlob, change.after->id));
    Result<workspace::Place> place = PlaceOf(request_.workspace, change.path);
    if (!place.ok()) {
      return workspace::CallError("open", change.path, place.error().system_errno());
    }
    const Result<struct stat> state = workspace::StateOf(*place);
    if (state.ok() && S_ISDIR(state->st_mode)) {
      return Error(ErrorKind::kSystem,
                   "a directory with files that the snapshot lacks is in its place");
    }
    if (change.after->mode == EntryMode::kLink) {
      return workspace::PutLink(*place, change.path, content);
    }
    const workspace::ModeBits bits = change.after->mode == EntryMode::kExecutable
                                         ? workspace::ModeBits::kExecutable
                                         : workspace::ModeBits::kPlain;
    if (state.ok() && S_ISREG(state->st_mode)) return Replace(*place, change.path, content, bits);
    return workspace::CreateFile(*place, change.path, content,
                                 {.bits = bits, .replace = workspace::OldEntry::kReplace});
  }

  static Status Replace(const workspace::Place& place, const std::string& path,
                        const std::string& content, workspace::ModeBits bits) {
    const Result<UniqueFd> existing = workspace::OpenAt(place, O_RDONLY);
    if (!existing.ok()) {
      return workspace::CallError("open", path, existing.error().system_errno());
    }
    return workspace::ReplaceContent(place, path, existing->get(), content, bits);
  }

  Status RemoveAll(const std::vector<Change>& changes) {
    if (std::ranges::none_of(changes, [](const Change& change) { return !change.after; })) {
      return {};
    }
    POLYBOX_ASSIGN_OR_RETURN(const std::set<std::string> listed,
                             ListPaths(request_.workspace, request_.stop));
    for (const Change& change : changes) {
      if (change.after) continue;
      if (!listed.contains(change.path)) {
        Keep(change.path, "the ignore files of the snapshot name it");
        continue;
      }
      Remove(change);
    }
    return {};
  }

  void Remove(const Change& change) {
    if (std::string why = ReasonToKeep(change); !why.empty()) return Keep(change.path, why);
    const Result<workspace::Place> place = PlaceOf(request_.workspace, change.path);
    const int error = !place.ok()               ? place.error().system_errno()
                      : !place->missing.empty() ? ENOENT
                      : ::unlinkat(place->parent.get(), place->name.c_str(), 0) != 0 ? errno
                                                                                     : 0;
    if (error != 0 && error != ENOENT) {
      return Keep(change.path, workspace::CallError("unlink", change.path, error).message());
    }
    report_.changed.push_back(change);
    RemoveEmptyAbove(change.path);
  }

  /// Removes the directories that have become empty. Git keeps no empty directories either.
  void RemoveEmptyAbove(std::string path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/')) {
      path.resize(slash);
      const Result<workspace::Place> place = PlaceOf(request_.workspace, path);
      if (!place.ok() || !place->missing.empty()) return;
      if (::unlinkat(place->parent.get(), place->name.c_str(), AT_REMOVEDIR) != 0) return;
    }
  }

  const RestoreRequest& request_;
  RestoreReport report_;
};

}  // namespace

Result<RestoreReport> Restore(const RestoreRequest& request) {
  return Restoration(request).Run();
}

}  // namespace polybox::snapshots

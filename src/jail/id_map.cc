#include "jail/id_map.h"

#include <fcntl.h>
#include <optional>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "jail/slot_numbers.h"
#include "sys/own_ids.h"
#include "sys/server_number.h"

namespace polybox::jail {
namespace {

Status WriteMap(pid_t pid, const char* file, const std::string& text) {
  const std::string path = fmt::format("/proc/{}/{}", pid, file);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
  return WriteAll(fd.get(), text).In("write " + path);
}

/// Writes the map of project ids, which any process in the namespace can write once. A guest could
/// leave a message to later guests there, so the server writes first. Where the server's own
/// namespace has no project ids (runtimes of containers map none), the kernel refuses every writer,
/// guests too.
Status MapProjects(pid_t pid) {
  const std::vector<sys::IdRange> ours = sys::OwnIds("projid_map");
  if (ours.empty()) return {};
  return WriteMap(pid, "projid_map", fmt::format("0 {} 1\n", ours[0].first));
}

}  // namespace

unsigned SlotUid(unsigned number) {
  static const std::optional<sys::GuestIds> ids = sys::IdsForGuests();
  if (!ids) return ::geteuid();
  static const sys::ServerNumber server(ids->slots.count / sys::kIdsOfServer);
  // Two uids per slot: the namespace's root and the guest.
  static_assert(kSlotUids == sys::kIdsOfServer / 2);
  return ids->slots.first + server.value() * sys::kIdsOfServer + (number % kSlotUids) * 2;
}

HostIds GuestIdsOf(const Spec& spec, unsigned number) {
  const unsigned own = spec.guest_uid.value_or(SlotUid(number) + 1);
  return spec.user.value_or(HostIds{own, own});
}

Status MapIds(pid_t pid, const Spec& spec, unsigned number) {
  POLYBOX_RETURN_IF_ERROR(MapProjects(pid));
  if (spec.privileged) {
    const unsigned uid = SlotUid(number);
    const HostIds guest = GuestIdsOf(spec, number);
    constexpr auto kLines = "0 {} 1\n65534 {} 1\n";
    POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", fmt::format(kLines, uid, guest.uid)));
    return WriteMap(pid, "gid_map", fmt::format(kLines, uid, guest.gid));
  }
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "setgroups", "deny"));
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", fmt::format("65534 {} 1\n", ::geteuid())));
  return WriteMap(pid, "gid_map", fmt::format("65534 {} 1\n", ::getegid()));
}

}  // namespace polybox::jail

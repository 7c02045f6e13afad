#include "jail/id_map.h"

#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"

namespace polybox::jail {
namespace {

// Host uids of guests: far from those of people and of subordinate ranges. Two per slot (the
// namespace's root and the guest), 256 per server, servers apart by their pid.
constexpr unsigned kFirstUid = 0x70000000;

Status WriteMap(pid_t pid, const char* file, const std::string& text) {
  const std::string path = fmt::format("/proc/{}/{}", pid, file);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
  return WriteAll(fd.get(), text).In("write " + path);
}

}  // namespace

unsigned SlotUid(unsigned number) {
  const auto server = static_cast<unsigned>(::getpid()) & 0xFFFFU;
  return kFirstUid + server * 256 + (number % 128) * 2;
}

Status MapIds(pid_t pid, const Spec& spec, unsigned number) {
  // It can be written once, by anyone, and stays: the first guest's word to all later ones, unless
  // we are first.
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "projid_map", "0 0 1\n"));
  if (spec.privileged) {
    const unsigned uid = SlotUid(number);
    const std::string map =
        fmt::format("0 {} 1\n65534 {} 1\n", uid, spec.guest_uid.value_or(uid + 1));
    POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", map));
    return WriteMap(pid, "gid_map", map);
  }
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "setgroups", "deny"));
  POLYBOX_RETURN_IF_ERROR(WriteMap(pid, "uid_map", fmt::format("65534 {} 1\n", ::geteuid())));
  return WriteMap(pid, "gid_map", fmt::format("65534 {} 1\n", ::getegid()));
}

}  // namespace polybox::jail

// The uid and gid of the guests of this slot.
#pragma once

namespace polybox::jail::init {

/// In every slot with namespaces the guest has this uid and gid inside its user namespace.
inline constexpr unsigned kGuestId = 65534;

struct Ids {
  unsigned uid = kGuestId;
  unsigned gid = kGuestId;
};

/// Returns the ids of the guests.
const Ids& GuestIds();
/// Sets the ids. Call it once, before the first guest, when a slot without namespaces is set up.
void SetGuestIds(const Ids& ids);
/// Returns whether the guests have the uid of the slot init: without root there is one uid for
/// both. The function makes a raw system call of its own instead of a call of the C library
/// (raw.h).
bool SharesUsers();

}  // namespace polybox::jail::init

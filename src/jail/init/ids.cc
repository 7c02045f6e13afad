#include "jail/init/ids.h"

#include "jail/init/raw.h"

namespace polybox::jail::init {
namespace {

Ids ids;

}  // namespace

const Ids& GuestIds() {
  return ids;
}

void SetGuestIds(const Ids& chosen) {
  ids = chosen;
}

bool SharesUsers() {
  return Raw(SYS_getuid) == ids.uid;
}

}  // namespace polybox::jail::init

#include "jail/init_image.h"

#include <fcntl.h>

#include <sys/mman.h>

#include "base/files.h"

// POLYBOX_SLOT_INIT is the path of the program that CMake has built before this file.
asm(R"(
  .section .rodata
  .global polybox_slot_init_begin
  .global polybox_slot_init_end
polybox_slot_init_begin:
  .incbin ")" POLYBOX_SLOT_INIT R"("
polybox_slot_init_end:
  .previous
)");

extern "C" const char polybox_slot_init_begin[];
extern "C" const char polybox_slot_init_end[];

namespace polybox::jail {

std::string_view InitImage() {
  return {polybox_slot_init_begin,
          static_cast<std::size_t>(polybox_slot_init_end - polybox_slot_init_begin)};
}

Result<UniqueFd> InitExecutable() {
  UniqueFd fd(::memfd_create("polybox-slot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Error::FromErrno("make a memfd for the slot init");
  POLYBOX_RETURN_IF_ERROR(WriteAll(fd.get(), InitImage()).In("fill the memfd of the slot init"));
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return Error::FromErrno("seal the slot init");
  return fd;
}

}  // namespace polybox::jail

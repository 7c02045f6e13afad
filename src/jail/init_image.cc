#include "jail/init_image.h"

#include <fcntl.h>

#include <sys/mman.h>

#include "base/files.h"

// Both paths are build results that CMake makes before this file is compiled.
#define POLYBOX_INCLUDE(name, path)   \
  asm("  .section .rodata\n"          \
      "  .global " name               \
      "_begin\n"                      \
      "  .global " name "_end\n" name \
      "_begin:\n"                     \
      "  .incbin \"" path "\"\n" name \
      "_end:\n"                       \
      "  .previous\n")

POLYBOX_INCLUDE("polybox_slot_init", POLYBOX_SLOT_INIT);
POLYBOX_INCLUDE("polybox_warm", POLYBOX_WARM);

extern "C" const char polybox_slot_init_begin[];
extern "C" const char polybox_slot_init_end[];
extern "C" const char polybox_warm_begin[];
extern "C" const char polybox_warm_end[];

namespace polybox::jail {
namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

Result<UniqueFd> SealedFile(const char* name, std::string_view content) {
  const std::string intent = std::string("make a memfd for ") + name;
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Error::FromErrno(intent);
  POLYBOX_RETURN_IF_ERROR(WriteAll(fd.get(), content).In(intent));
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return Error::FromErrno(intent);
  return fd;
}

}  // namespace

std::string_view InitImage() {
  return Between(polybox_slot_init_begin, polybox_slot_init_end);
}

Result<UniqueFd> InitExecutable() {
  return SealedFile("polybox-slot", InitImage());
}

Result<UniqueFd> WarmLibrary() {
  return SealedFile("polybox-warm", Between(polybox_warm_begin, polybox_warm_end));
}

}  // namespace polybox::jail

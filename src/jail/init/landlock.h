// Landlock as the slot init uses it, and the names of its rights for the plans that make rules. The
// kernel header of an older system lacks the newer rights, so this file has the numbers of the ABI.
// Used by the server and the slot init: it depends on nothing but protocol.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

inline constexpr std::uint64_t kExecute = 1U << 0U;
inline constexpr std::uint64_t kWriteFile = 1U << 1U;
inline constexpr std::uint64_t kReadFile = 1U << 2U;
inline constexpr std::uint64_t kReadDirectory = 1U << 3U;
inline constexpr std::uint64_t kRemoveDirectory = 1U << 4U;
inline constexpr std::uint64_t kRemoveFile = 1U << 5U;
inline constexpr std::uint64_t kMakeCharacterDevice = 1U << 6U;
inline constexpr std::uint64_t kMakeDirectory = 1U << 7U;
inline constexpr std::uint64_t kMakeFile = 1U << 8U;
inline constexpr std::uint64_t kMakeSocket = 1U << 9U;
inline constexpr std::uint64_t kMakeFifo = 1U << 10U;
inline constexpr std::uint64_t kMakeBlockDevice = 1U << 11U;
inline constexpr std::uint64_t kMakeLink = 1U << 12U;
inline constexpr std::uint64_t kRefer = 1U << 13U;
inline constexpr std::uint64_t kTruncate = 1U << 14U;
inline constexpr std::uint64_t kDeviceControl = 1U << 15U;

/// The rights that a rule on anything but a directory may grant.
inline constexpr std::uint64_t kOfFiles =
    kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

/// What a kernel with this ABI can refuse. Everything in it that no rule grants is refused.
struct Handled {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};
constexpr Handled HandledBy(int abi) {
  constexpr std::uint64_t kBindAndConnectTcp = 3;
  constexpr std::uint64_t kAbstractSocketsAndSignals = 3;
  Handled handled;
  handled.files = kRefer - 1;
  if (abi >= 2) handled.files |= kRefer;
  if (abi >= 3) handled.files |= kTruncate;
  if (abi >= 4) handled.network = kBindAndConnectTcp;
  if (abi >= 5) handled.files |= kDeviceControl;
  if (abi >= 6) handled.scopes = kAbstractSocketsAndSignals;
  return handled;
}

/// A ruleset for landlock_restrict_self. The descriptors of the paths stay open as long as the
/// ruleset. A rule on a file of /proc holds only while a process has that file open.
class Ruleset {
 public:
  /// Makes the ruleset. Returns 0 or an errno; `index` is then the rule that was refused, or -1 if
  /// no rule was. Paths that do not exist are skipped.
  int Make(const Bare& bare, int& index);
  int fd() const { return fd_.get(); }

 private:
  int Add(const Bare& bare, const PathRule& rule, std::uint64_t handled);

  UniqueFd fd_;
  std::vector<UniqueFd> paths_;
};

/// Puts the calling process, and all processes that it starts from here on, into a Landlock domain
/// that signals cannot leave. kill(-1) of the caller then reaches its descendants and no other
/// process. Returns false where the kernel cannot do that (before Linux 6.12), or where a trial
/// shows that signals still reach the caller's parent.
bool KeepSignalsInside();

}  // namespace polybox::jail::init

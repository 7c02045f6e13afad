// Landlock as the slot init uses it, and its rights by name for those who write the rules. The
// kernel's header of an older system lacks the newer ones, so the numbers of the ABI stand here.
// Used by both sides: no dependency beyond protocol.h.
#pragma once

#include <cstdint>
#include <vector>

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

/// What a rule on something that is no directory may grant.
inline constexpr std::uint64_t kOfFiles =
    kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

/// What a kernel with this ABI can refuse; everything in it that no rule grants is refused.
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

/// A set of rules for landlock_restrict_self. The descriptors of the paths stay open with it: a
/// rule on a file of /proc holds only while somebody holds the file.
class Ruleset {
 public:
  Ruleset() = default;
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;
  ~Ruleset() { Close(); }

  /// 0, or the errno; `index` is the rule that was refused, -1 for none of them. Paths that are not
  /// there are passed over.
  int Make(const Bare& bare, int& index);
  int fd() const { return fd_; }

 private:
  void Close();
  int Add(const Bare& bare, const PathRule& rule, std::uint64_t handled);

  int fd_ = -1;
  std::vector<int> paths_;
};

}  // namespace polybox::jail::init

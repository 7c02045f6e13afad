// The numbers of slots (SlotOptions::number). A number decides the host uids of the slot's guests:
// numbers with the same remainder by kSlotUids have the same uids. So each use of slots has
// remainders of its own. Pure functions.
#pragma once

namespace polybox::jail {

/// Slots of one server that can have different uids.
inline constexpr unsigned kSlotUids = 128;

enum class SlotUse {
  kPool,        ///< Slots that serve requests.
  kMachine,     ///< Leases of workspaces.
  kRegistries,  ///< Slots of trial downloads from package registries.
  kTrial,       ///< The slot that shows whether a grade works.
  kPreparer,    ///< The slot that prepares files for compile steps.
  kInstaller,   ///< Slots in which packages are installed.
};

/// A range of remainders.
struct SlotRange {
  SlotUse use;
  unsigned first;
  unsigned count;
};

inline constexpr SlotRange kSlotRanges[] = {
    {SlotUse::kPool, 0, 92},   {SlotUse::kMachine, 92, 30},  {SlotUse::kRegistries, 122, 2},
    {SlotUse::kTrial, 124, 1}, {SlotUse::kPreparer, 125, 1}, {SlotUse::kInstaller, 126, 2}};

/// Returns whether the ranges begin where the one before ends, and cover all remainders.
constexpr bool CoverAllRemainders() {
  unsigned end = 0;
  for (const SlotRange& range : kSlotRanges) {
    if (range.first != end || range.count == 0) return false;
    end += range.count;
  }
  return end == kSlotUids;
}
static_assert(CoverAllRemainders());

/// Returns the number of slot `index` of a use. The numbers of all uses differ. Uids are used again
/// within a use alone, after all of its range.
constexpr unsigned SlotNumber(SlotUse use, unsigned index) {
  for (const SlotRange& range : kSlotRanges) {
    if (range.use == use)
      return index / range.count * kSlotUids + range.first + index % range.count;
  }
  return 0;
}

}  // namespace polybox::jail

// Decides what the next session of a slot gets from the session before: cells, scratch directories,
// namespaces of System V objects and of the network. The class of each of these finds out whether a
// guest could distinguish it from a new one. This class decides whether that is enough.
#pragma once

namespace polybox::jail::init {

class Reuse {
 public:
  Reuse() = default;
  /// With `allowed` false (`--reuse=off`) every session gets new ones.
  explicit Reuse(bool allowed) : allowed_(allowed) {}

  /// Returns whether a cell may serve a second guest. The cell must have a PID namespace of its
  /// own. Where guests have the uid of the cell's init, a guest could change the init. Where no
  /// cgroup counts what a guest uses (`counted`), the figures of the init include those of all its
  /// guests.
  bool OfCell(bool in_namespaces, bool shares_users, bool counted) const {
    return allowed_ && in_namespaces && !shares_users && counted;
  }
  /// Returns whether a cell may serve another guest after this many. No trace of a guest in a cell
  /// is known that the checks miss; an unknown one would not last long.
  static bool OfCellAfter(int guests) {
    constexpr int kMostGuests = 256;
    return guests < kMostGuests;
  }
  /// Returns whether to keep a scratch directory. `is_as_new` finds out whether it is as good as
  /// new; it is not called when the answer does not matter.
  template <typename Check>
  bool OfScratch(Check is_as_new) const {
    return allowed_ && is_as_new();
  }
  /// Returns whether to keep the IPC namespace.
  template <typename Check>
  bool OfIpc(Check is_as_new) const {
    return allowed_ && is_as_new();
  }
  /// Returns whether to keep the network namespace. A namespace with egress is never kept. It
  /// counts packets and keeps lingering ports, and tunnels of the last session may still be open at
  /// the proxy.
  template <typename Check>
  bool OfNetwork(bool has_egress, Check is_as_new) const {
    return allowed_ && !has_egress && is_as_new();
  }

 private:
  bool allowed_ = true;
};

}  // namespace polybox::jail::init

// Who may be reached from a jail through the egress proxy. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace polybox::net {

/// The word in a list that stands for port 443 of every public address.
inline constexpr const char* kPublicHosts = "public";

class EgressPolicy {
 public:
  enum class Reach {
    kNowhere,
    kPublicAddress,  ///< If its address is a public one.
    kAnyAddress,     ///< The operator named this very host, wherever it is.
  };

  /// Which addresses that are not public a jail can reach. Whoever owns a name could point it
  /// anywhere, so never those of a name under a suffix.
  enum class Inside {
    kOfNamedHosts,     ///< Those of a host that is named in full: an index in the own network.
    kNamedThemselves,  ///< Those that stand in the list: for code that nobody has read.
  };

  /// Each entry is "public", HOST, *.SUFFIX (not SUFFIX itself) or one of the two with :PORT; 443
  /// without. `setting` is named in refusals.
  static Result<EgressPolicy> Make(const std::vector<std::string>& entries, std::string setting,
                                   Inside inside = Inside::kOfNamedHosts);

  Reach ForHost(const HostPort& target) const;
  /// Whether an entry stands for this host in particular: not only "public".
  bool Names(const HostPort& target) const;
  /// Whether a host of this reach may be reached at this address. The machine's own addresses are
  /// like those that are not public. Asks the system for them.
  bool Allows(Reach reach, const Address& address, std::uint16_t port) const;
  Inside inside() const { return inside_; }
  const std::string& setting() const { return setting_; }
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    bool IsFor(const HostPort& target) const;

    /// With its leading dot when `is_suffix`; "" is "public".
    std::string host;
    std::uint16_t port = 443;
    bool is_suffix = false;
  };

  std::vector<Rule> rules_;
  std::string setting_;
  Inside inside_ = Inside::kOfNamedHosts;
};

/// For settings: what is wrong with an entry, "" when nothing is.
std::string ComplaintAboutEntry(const std::string& entry);

}  // namespace polybox::net

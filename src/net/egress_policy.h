// Decides which hosts a jail may reach through the egress proxy. Immutable, so any thread may use
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace polybox::net {

/// The list entry that allows port 443 of every public address.
inline constexpr const char* kPublicHosts = "public";

class EgressPolicy {
 public:
  enum class Reach {
    kNowhere,
    kPublicAddress,  ///< The host is allowed if its address is public.
    kAnyAddress,     ///< The operator listed exactly this host, so its address does not matter.
  };

  /// Which addresses that are not public a jail can reach. The owner of a name could point it to
  /// any address. Therefore a name that only matches a suffix entry never reaches such an address.
  enum class Inside {
    kOfNamedHosts,     ///< The addresses of a fully listed host name, such as a package index in
                       ///< the operator's network.
    kNamedThemselves,  ///< Only addresses that are themselves listed; for code that nobody has
                       ///< reviewed.
  };

  /// Each entry is "public", HOST, *.SUFFIX (which does not match SUFFIX itself), or one of the
  /// last two with :PORT. The default port is 443. `setting` is the setting's name, for messages
  /// about refusals.
  static Result<EgressPolicy> Make(const std::vector<std::string>& entries, std::string setting,
                                   Inside inside = Inside::kOfNamedHosts);

  /// Returns which addresses `target` may have.
  Reach ForHost(const HostPort& target) const;
  /// Returns whether an entry other than "public" matches this host.
  bool Names(const HostPort& target) const;
  /// Returns whether a host with this reach may be contacted at this address. The machine's own
  /// addresses count as not public; the function asks the kernel for them.
  bool Allows(Reach reach, const Address& address, std::uint16_t port) const;
  Inside inside() const { return inside_; }
  const std::string& setting() const { return setting_; }
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    bool IsFor(const HostPort& target) const;

    /// With a leading dot when `is_suffix` is true; "" for the entry "public".
    std::string host;
    std::uint16_t port = 443;
    bool is_suffix = false;
  };

  std::vector<Rule> rules_;
  std::string setting_;
  Inside inside_ = Inside::kOfNamedHosts;
};

/// Returns what is wrong with a list entry, "" when nothing is. For the check of settings.
std::string ComplaintAboutEntry(const std::string& entry);

}  // namespace polybox::net

#include "workspace/protection_rules.h"

namespace polybox::workspace {

std::optional<ProtectionRules::Rule> ProtectionRules::Find(const std::string& path) const {
  const ProtectedPath* row = paths_.Find(prefix_.empty() ? path : prefix_ + "/" + path);
  if (row != nullptr) return Rule{row->reason, row->extent};
  const auto named = named_.find(path);
  if (named != named_.end()) return Rule{named->second};
  return std::nullopt;
}

std::optional<ProtectionRules::Rule> ProtectionRules::FindForLink(const std::string& path) const {
  if (std::optional<Rule> rule = Find(path)) return rule;
  const ProtectedPath* row = paths_.FindAbove(prefix_.empty() ? path : prefix_ + "/" + path);
  if (row != nullptr) return Rule{row->reason};
  const auto named = named_.upper_bound(path + "/");
  const bool is_above = named != named_.end() && named->first.starts_with(path + "/");
  return is_above ? std::optional(Rule{named->second}) : std::nullopt;
}

bool ProtectionRules::CouldEndWith(std::string_view name) const {
  return paths_.CouldEndWith(name) || last_names_.contains(name);
}

bool ProtectionRules::Name(std::map<std::string, std::string> named) {
  if (named == named_) return false;
  named_ = std::move(named);
  last_names_.clear();
  for (const auto& [path, reason] : named_) {
    last_names_.insert(path.substr(path.rfind('/') + 1));
  }
  return true;
}

}  // namespace polybox::workspace

#include "limits/table.h"

#include <algorithm>
#include <type_traits>

namespace polybox::limits {
namespace {

constexpr std::size_t kValueSize = sizeof(std::int64_t);

constexpr bool ShareMember(const Limit& one, const Limit& other) {
  return std::visit(
      [&]<typename T>(const Member<T>& mine) {
        if (!std::holds_alternative<Member<T>>(other.member)) return false;
        // Not std::get_if(): with UndefinedBehaviorSanitizer, GCC takes the comparison of its
        // argument with null for no constant expression.
        const auto& its = std::get<Member<T>>(other.member);
        return mine.value == its.value || (mine.change != nullptr && mine.change == its.change);
      },
      one.member);
}

/// Returns whether no two rows have the same key or are for the same member.
constexpr bool AreDistinct() {
  for (std::size_t i = 0; i < kLimits.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kLimits[i].key == kLimits[j].key || ShareMember(kLimits[i], kLimits[j])) return false;
    }
  }
  return true;
}

constexpr bool HasMember(const Limit& limit) {
  return std::visit([](const auto& member) { return member.value != nullptr; }, limit.member);
}

constexpr bool IsEnforced(const Limit& limit) {
  const EnforcedBy& by = limit.by;
  return by.watch || by.cgroup || by.tree_watch || by.rlimit || by.scratch || by.reader;
}

/// Returns how many limits a list has if their positions are 1, 2, 3 and so on; otherwise 0.
constexpr std::size_t LengthOf(Shown Limit::* list) {
  const auto at = [&](std::size_t position) {
    return std::ranges::count_if(kLimits, [&](const Limit& limit) {
      return (limit.*list).position == position && !(limit.*list).name.empty();
    });
  };
  std::size_t length = 0;
  while (at(length + 1) == 1) ++length;
  const auto shown = std::ranges::count_if(
      kLimits, [&](const Limit& limit) { return (limit.*list).position != 0; });
  return static_cast<std::size_t>(shown) == length ? length : 0;
}

constexpr std::size_t CountChanges() {
  return static_cast<std::size_t>(std::ranges::count_if(kLimits, &Limit::Changes));
}

/// The kernel takes no time with the precision of a Duration.
constexpr bool RlimitFits(const Limit& limit) {
  return limit.rlimit == kNoRlimit || (limit.by.rlimit && limit.unit() != Unit::kTime);
}

/// languages/parse.cc refuses every count below 1.
constexpr bool ZeroFits(const Limit& limit) {
  return limit.zero == Zero::kRefused || limit.unit() != Unit::kCount;
}

/// Polybox parses no flag whose value is a count, and a flag needs a limit that a request changes.
constexpr bool FlagFits(const Limit& limit) {
  return limit.flag.name.empty() || (limit.Changes() && limit.unit() != Unit::kCount);
}

static_assert(sizeof(StepLimits) == kLimits.size() * kValueSize && AreDistinct() &&
                  std::ranges::all_of(kLimits, HasMember),
              "each member of StepLimits has one row in kLimits");
static_assert(sizeof(Overrides) == CountChanges() * sizeof(std::optional<std::int64_t>),
              "each member of Overrides is in one row of kLimits");
static_assert(std::ranges::all_of(kLimits, IsEnforced), "something enforces each limit");
static_assert(LengthOf(&Limit::listed) == kLimits.size(),
              "GET /languages has each limit, at a position of its own");
static_assert(LengthOf(&Limit::column) > 0, "each column has a position of its own");
static_assert(std::ranges::all_of(kLimits, RlimitFits), "a resource limit equals a size or count");
static_assert(std::ranges::all_of(kLimits, ZeroFits), "a count cannot be 0");
static_assert(std::ranges::all_of(kLimits, FlagFits), "each flag can change its limit");

std::int64_t ToNumber(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}
std::int64_t ToNumber(Bytes size) {
  return static_cast<std::int64_t>(size.count());
}
std::int64_t ToNumber(std::int64_t count) {
  return count;
}

template <typename T>
T FromNumber(std::int64_t number) {
  if constexpr (std::is_same_v<T, Duration>) {
    return std::chrono::milliseconds(number);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Bytes(static_cast<std::uint64_t>(number));
  } else {
    return number;
  }
}

std::string ToText(Duration time) {
  return FormatDuration(time);
}
std::string ToText(Bytes size) {
  return FormatBytes(size);
}
std::string ToText(std::int64_t count) {
  return std::to_string(count);
}

}  // namespace

std::vector<const Limit*> InOrderOf(Shown Limit::* list) {
  std::vector<const Limit*> all;
  for (const Limit& limit : kLimits) {
    if ((limit.*list).position != 0) all.push_back(&limit);
  }
  std::ranges::sort(all, {}, [&](const Limit* limit) { return (limit->*list).position; });
  return all;
}

std::int64_t NumberOf(const Limit& limit, const StepLimits& limits) {
  return std::visit([&](const auto& member) { return ToNumber(limits.*member.value); },
                    limit.member);
}

void Lower(const Limit& limit, std::int64_t number, Overrides& overrides) {
  std::visit(
      [&]<typename T>(const Member<T>& member) {
        std::optional<T>& change = overrides.*member.change;
        const T value = FromNumber<T>(number);
        change = std::min(change.value_or(value), value);
      },
      limit.member);
}

std::string FormatValue(const Limit& limit, const StepLimits& limits) {
  return std::visit([&](const auto& member) { return ToText(limits.*member.value); }, limit.member);
}

}  // namespace polybox::limits

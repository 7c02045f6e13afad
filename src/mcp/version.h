// The protocol versions that polybox speaks, and what differs between them. Versions up to
// 2025-11-25 ("legacy") begin with a handshake, `initialize`. From 2026-07-28 ("modern") each
// request names its version and stands alone.
#pragma once

#include <compare>
#include <optional>
#include <string_view>
#include <vector>

namespace polybox::mcp {

/// In the order of their dates, so that "since" is a comparison.
enum class Version { k2024_11_05, k2025_03_26, k2025_06_18, k2025_11_25, k2026_07_28 };

/// The version that `initialize` settles on if the client asks for one that is unknown.
inline constexpr Version kLatestLegacy = Version::k2025_11_25;

/// The name of the extension of modern versions by which calls become tasks.
inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

/// Returns "2026-07-28".
std::string_view NameOf(Version version);
/// Returns nothing for an unknown name.
std::optional<Version> VersionNamed(std::string_view name);
/// Returns the names of all versions, newest first.
std::vector<std::string_view> VersionNames();

constexpr bool IsModern(Version version) {
  return version >= Version::k2026_07_28;
}
/// Several messages in one array. The versions after 2025-03-26 have no batches.
constexpr bool HasBatches(Version version) {
  return version <= Version::k2025_03_26;
}
constexpr bool HasAnnotations(Version version) {
  return version >= Version::k2025_03_26;
}
constexpr bool HasAudio(Version version) {
  return version >= Version::k2025_03_26;
}
/// The client asks for a task with the call. Later versions have an extension, in which polybox
/// decides; earlier ones have no tasks.
constexpr bool AsksForTasks(Version version) {
  return version == Version::k2025_11_25;
}
/// `message` in a report of progress.
constexpr bool HasProgressMessages(Version version) {
  return version >= Version::k2025_03_26;
}
/// `structuredContent`, `outputSchema`, `title`, `_meta` of tools, and links to resources.
constexpr bool HasStructuredContent(Version version) {
  return version >= Version::k2025_06_18;
}

}  // namespace polybox::mcp

// Files by which a project of an ecosystem is recognised that no language file describes. They are
// only named in the error about such a project. Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"
#include "workspace/glob_pattern.h"

namespace polybox::verify {

/// The file foreign-markers.toml.
std::span<const EmbeddedFile> ForeignMarkerFiles();

/// Parses such a file. `origin` is its name in errors.
Result<std::vector<workspace::Glob>> ParseForeignMarkers(std::string_view toml,
                                                         const std::string& origin);

/// Returns those of `files` that match a built-in marker, in their order.
std::vector<std::string> ForeignMarkersIn(const std::vector<std::string>& files);

}  // namespace polybox::verify

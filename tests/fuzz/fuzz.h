// What the fuzzers share: how they say that a claim does not hold, and languages to ask for.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/doors/languages.h"

namespace polybox::fuzz {

/// Ends the fuzzer, which keeps the input, unless the claim holds.
inline void Check(bool holds, std::string_view claim, std::string_view seen = "") {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n%.*s\n", static_cast<int>(claim.size()), claim.data(),
               static_cast<int>(seen.size()), seen.data());
  std::abort();
}

inline std::string_view ToText(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::vector<http::LanguageFacts> Languages() {
  http::LanguageFacts node;
  node.id = node.name = "node";
  node.aliases = {"js"};
  node.extensions = {".js"};
  node.binaries = {"node"};
  node.entry_file = "script.js";
  node.run_limits.memory = Bytes::MiB(64);
  node.run_limits.processes = 8;
  node.run_limits.disk = node.run_limits.output = Bytes::MiB(1);
  http::LanguageFacts typescript = node;
  typescript.id = "ts";
  typescript.aliases = {};
  typescript.extensions = {".ts"};
  typescript.entry_file = "main.ts";
  typescript.entry_is_fixed = typescript.compiled = true;
  typescript.restricted_files = {"package.json"};
  return {node, typescript};
}

}  // namespace polybox::fuzz

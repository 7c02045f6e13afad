// Whether the slots of tests use things of earlier sessions again. With POLYBOX_REUSE=off in the
// environment, as in `make test-deep`, tests run as a server with --reuse=off does.
#pragma once

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

namespace polybox::jail {

/// Returns the value for SlotOptions::reuse and launch::JailHome::SetReuse().
inline bool ReuseByDefault() {
  const char* const setting = std::getenv("POLYBOX_REUSE");
  return setting == nullptr || std::string_view(setting) != "off";
}

}  // namespace polybox::jail

/// At the begin of a test, or of a SetUp(), of what is used again.
#define POLYBOX_SKIP_WITHOUT_REUSE()      \
  if (!::polybox::jail::ReuseByDefault()) \
  GTEST_SKIP() << "tests reuse, which POLYBOX_REUSE turns off"

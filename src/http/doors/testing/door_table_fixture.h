// All doors of the table beside a fake engine, for tests that must hold for every door.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "http/doors/door_table.h"
#include "http/testing/fakes.h"
#include "mcp/dispatcher.h"
#include "tools/registry.h"

namespace polybox::http::testing {

class DoorTableTest : public ::testing::Test {
 protected:
  /// Returns the parts of a server with Bash alone.
  DoorParts Parts() {
    LanguageFacts bash;
    bash.id = "bash";
    return {.settings = {},
            .executor = executor_,
            .metrics = metrics_,
            .readiness = std::make_shared<Readiness>(Readiness::Options{}),
            .languages = {.available = {bash}, .mode = "shell"},
            .files = {},
            .mcp = {.dispatcher = &dispatcher_},
            .version = "1.2.3"};
  }
  /// Returns the doors of this server. `change` changes the parts.
  std::vector<Door> Doors(const std::function<void(DoorParts&)>& change = nullptr) {
    DoorParts parts = Parts();
    if (change) change(parts);
    Result<std::vector<Door>> doors = MakeDoors(std::move(parts));
    EXPECT_TRUE(doors.ok()) << doors.error().message();
    return doors.ok() ? std::move(doors).value() : std::vector<Door>();
  }

  FakeExecutor executor_;
  obs::Metrics metrics_;
  log::Logger log_ = log::Logger::ToStderr({});
  mcp::Dispatcher dispatcher_{{.tools = tools::Registry::Make({}).value(), .version = "1.2.3"},
                              log_};
};

}  // namespace polybox::http::testing

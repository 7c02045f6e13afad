// The Kubernetes runtime API: what agent-sandbox's clients expect of a sandbox image. Commands and
// files in one base directory. POST /execute with `command` comes through the execute door, which
// shares the path.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "exec/engine.h"
#include "http/doors/base_directory.h"
#include "http/doors/execute.h"
#include "http/exchange.h"

namespace polybox::http {

struct CommandRequest {
  /// Whose turn it is.
  std::string client;
  /// argv[0] is a name to be looked for on the guest's PATH, or a path. Never empty.
  std::vector<std::string> argv;
  Duration timeout{};
};

/// Runs commands in the base directory, in a jail of their own; tests bring their own.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  /// As Executor::Submit: `done` is called exactly once, with a report that has a run step. A
  /// program that is not there is End::kSetupFailed.
  virtual std::shared_ptr<exec::Ticket> Run(CommandRequest request, exec::Executor::Done done) = 0;
};

struct RuntimeOptions {
  std::shared_ptr<const BaseDirectory> files;
  /// Null where the kernel keeps the directory small enough.
  std::shared_ptr<exec::SpaceWatch> space = nullptr;
  /// Of a command; a request may ask for less.
  Duration command_timeout = std::chrono::seconds(300);
  /// Of the directory, for saying so.
  exec::SpaceLimits space_limits = {Bytes::MiB(1024), 100000};
  /// How many commands run at once, for saying so.
  std::int64_t capacity = 1;
  /// Of commands, for saying so of those that are none.
  jail::Grade isolation = jail::Grade::kNone;
  /// The clients' own limits.
  std::size_t largest_upload = 256U << 20U;
  Bytes largest_download = Bytes::MiB(256);
  /// What a client reads of a listing is 8 MB.
  std::size_t most_entries = 50000;
};

/// GET /, /upload, /download, /list, /exists.
Door MakeRuntimeDoor(RuntimeOptions options);
/// For the execute door. `runner` must outlive it and all its exchanges.
CommandHandler MakeCommandHandler(CommandRunner& runner, RuntimeOptions options);

/// SANDBOX_EXEC_TIMEOUT_SECONDS: a finite number above 0; nothing when it is not.
std::optional<Duration> ParseCommandTimeout(std::string_view text);

}  // namespace polybox::http

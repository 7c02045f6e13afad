// The Kubernetes runtime API, which clients of agent-sandbox expect of a sandbox image: commands
// and files in one base directory. POST /execute with `command` arrives through the execute door,
// because both APIs share that path.
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
  /// Identifies the client when the engine shares its slots fairly.
  std::string client;
  /// argv[0] is a path, or a name that is searched on the guest's PATH. Never empty.
  std::vector<std::string> argv;
  Duration timeout{};
};

/// Runs each command in the base directory, in its own jail. An interface, so that tests can use a
/// fake.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  /// Like Executor::Submit(): calls `done` exactly once, with a report that has a run step. If the
  /// program does not exist, the step ends with End::kSetupFailed.
  virtual std::shared_ptr<exec::Ticket> Run(CommandRequest request, exec::Executor::Done done) = 0;
};

/// The base directory of a server, with its limits.
struct CommandFiles {
  std::shared_ptr<const BaseDirectory> directory = nullptr;
  /// Null when the kernel limits the directory's size.
  std::shared_ptr<exec::SpaceWatch> space = nullptr;
  exec::SpaceLimits limits = {Bytes::MiB(1024), 100000};
};

struct RuntimeOptions {
  std::shared_ptr<const BaseDirectory> files;
  /// Null when the kernel limits the directory's size.
  std::shared_ptr<exec::SpaceWatch> space = nullptr;
  /// The timeout of a command; a request may ask for less.
  Duration command_timeout = std::chrono::seconds(300);
  /// The limits of the directory, for messages.
  exec::SpaceLimits space_limits = {Bytes::MiB(1024), 100000};
  /// How many commands run at once, for messages.
  std::int64_t capacity = 1;
  /// The isolation of commands, for the results of commands that could not run.
  jail::Grade isolation = jail::Grade::kNone;
  /// The limits that the API's clients have themselves.
  std::size_t largest_upload = 256U << 20U;
  Bytes largest_download = Bytes::MiB(256);
  /// A client reads at most 8 MB of a listing.
  std::size_t most_entries = 50000;
};

struct DoorParts;
struct DoorRow;
extern const DoorRow kRuntimeDoor;

/// Makes the door for GET /, /upload, /download, /list and /exists. For a browser GET / answers the
/// console (console.h).
Door MakeRuntimeDoor(RuntimeOptions options);
/// Makes the handler for the execute door. `runner` must outlive the handler and all its exchanges.
CommandHandler MakeCommandHandler(CommandRunner& runner, RuntimeOptions options);
/// Makes the handler of a server. It runs commands in the engine, in the lane of this door.
CommandHandler CommandsOf(const DoorParts& parts);

}  // namespace polybox::http

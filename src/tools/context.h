// What a tool gets beside its arguments: who calls, how to stop, where to report progress, and the
// workspaces of the server. A context is valid until the call returns. One thread per call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace polybox::machine {
class Machines;
}
namespace polybox::secrets {
class SecretStore;
}
namespace polybox::shells {
class Shells;
}
namespace polybox::verify {
class Verification;
}
namespace polybox::workspace {
class WorkspaceSet;
}

namespace polybox::tools {

class Client;
class CodeRunner;

/// How far a call has come.
struct Progress {
  /// Grows with each report. Its unit is the tool's own: tests, bytes, seconds.
  double done = 0;
  /// The value of `done` at the end, if it is known.
  std::optional<double> total = {};
  /// One short sentence for a person; may be empty.
  std::string message = {};
};

/// The length of an answer that a client accepts without complaint. Clients warn at 10,000 tokens
/// and refuse from 25,000; the structured data needs room too.
inline constexpr std::int64_t kDefaultBudgetTokens = 8000;

/// How the request of a call came, for spans and the audit log.
struct CallOrigin {
  /// The method and the version of the protocol, and the id of the request as JSON.
  std::string method = {};
  std::string protocol_version = {};
  std::string request_id = {};
  /// The header fields `traceparent` and `tracestate` of W3C, or the members of `_meta`.
  std::string trace_parent = {};
  std::string trace_state = {};
};

struct Context {
  /// Names the caller, for state that one caller must not share with another. The name is "stdio"
  /// for the process at the other end of the pipe, otherwise a name that follows from the token.
  std::string principal;
  /// The argument `workspace` of the call; empty if the caller named none.
  std::string workspace = {};
  /// The length of the answer that the caller wants, about four characters each. Only tools with
  /// kTakesBudget get another value than the default.
  std::int64_t budget_tokens = kDefaultBudgetTokens;
  /// Requested when the client cancels the call or is gone. A tool then returns soon.
  std::stop_token stop = {};
  /// Takes reports; empty if the client wants none. A tool that runs long reports every few
  /// seconds.
  std::function<void(const Progress&)> progress = {};
  /// What the tool can ask of the client; outlives the call. Null if nobody can be asked.
  Client* client = nullptr;
  /// The workspaces of the server; outlive the call. Null only in tests of tools that need none.
  workspace::WorkspaceSet* workspaces = nullptr;
  /// The server's cache directory, in which snapshots are kept; "" if there is none.
  std::string cache_dir = {};
  /// The jails of the workspaces; outlive the call. Null only in tests of tools that start nothing.
  machine::Machines* machines = nullptr;
  /// The commands that run in them; outlive the call. Null where `machines` is.
  shells::Shells* shells = nullptr;
  /// Checks projects in them; outlives the call. Null where `machines` is.
  verify::Verification* verification = nullptr;
  /// Runs programs outside of the workspaces; outlives the call. Null: the server runs none.
  CodeRunner* code = nullptr;
  /// The secrets of the operator; outlive the call. Null if there are none.
  secrets::SecretStore* secrets = nullptr;
  CallOrigin origin = {};
};

}  // namespace polybox::tools

// Answers the requests of MCP clients, of every version. A request with modern `_meta` is answered
// as 2026-07-28, `initialize` begins a legacy conversation. The dispatcher keeps nothing between
// requests: what a conversation remembers is in mcp/connection.h. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/log.h"
#include "json/value.h"
#include "mcp/documents.h"
#include "mcp/json_rpc.h"
#include "mcp/request_state.h"
#include "mcp/tool_json.h"
#include "mcp/version.h"
#include "tools/context.h"
#include "tools/registry.h"

namespace polybox::mcp {

struct DispatcherOptions {
  tools::Registry tools;
  StructuredOutput structured_output = StructuredOutput::kAuto;
  /// The version of polybox.
  std::string version;
  /// How to use the tools together, for a model; what the descriptions say is not said again.
  std::string instructions = {};
  Sources sources = {};
  std::vector<tools::Prompt> prompts = {};
  /// Removes secrets from answers of all methods, documents and prompts included, and from what is
  /// asked of the client. Answers of tools need it not: see tools/scrub_answers.h. May be null.
  std::function<void(json::Value&)> scrub = nullptr;
};

class Dispatcher {
 public:
  Dispatcher(DispatcherOptions options, const log::Logger& log);

  /// Returns the version that a request speaks. `settled` is the one of an earlier `initialize`.
  /// For `initialize` it is the version that the answer names.
  std::variant<Version, RpcError> VersionOf(const Request& request,
                                            std::optional<Version> settled) const;

  /// Answers the request. Runs the tool of tools/call and returns when the tool has. `context` is
  /// for the tool. Never throws: an exception is an internal error
  /// without its text, which goes to the log.
  Outcome Answer(const Request& request, Version version, const tools::Context& context) const;

  /// Returns whether the answer to the request may take time: it runs a tool or reads files.
  static bool TakesTime(const Request& request);
  /// Returns how the tool of a request uses tasks. A tool that does not exist uses none.
  tools::TaskUse TaskUseOf(const Request& request) const;
  /// Returns the result with what every modern result has; `type` is its resultType.
  json::Object Complete(json::Object result, Version version,
                        std::string_view type = "complete") const;
  /// Removes secrets from what a client gets beside answers: questions and lines of its log.
  void Scrub(json::Value& value) const;

  const Documents& documents() const { return documents_; }
  const StateSeal& seal() const { return seal_; }

 private:
  Outcome AnswerUnguarded(const Request& request, Version version,
                          const tools::Context& context) const;
  Outcome Initialize(Version version) const;
  Outcome Discover() const;
  Outcome ListTools(const Request& request, Version version) const;
  Outcome CallTool(const Request& request, Version version, const tools::Context& context) const;
  /// Removes secrets from answers that do not come from a tool.
  void Scrub(const Request& request, Outcome& outcome) const;
  json::Object ServerInfo(Version version) const;
  json::Object Capabilities(Version version) const;

  DispatcherOptions options_;
  Documents documents_;
  /// Whether a tool uses tasks.
  bool has_tasks_;
  StateSeal seal_;
  log::Logger log_;
};

}  // namespace polybox::mcp

// Documents that a client can list, read and watch by their URI. A source offers the documents of
// one kind, such as the stored output of commands. Tools know no protocol, and neither do sources.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/answer.h"
#include "tools/context.h"

namespace polybox::tools {

/// A document in a list.
struct ResourceInfo {
  std::string uri;
  std::string name;
  std::string description = {};
  std::string mime_type = {};
  std::optional<std::int64_t> size = {};
};

/// A URI with variables (RFC 6570), by which a client can name documents that are in no list.
struct ResourceTemplate {
  std::string uri_template;
  std::string name;
  std::string description = {};
  std::string mime_type = {};
};

/// What was read of a document.
struct ResourceText {
  ResourceBlock content;
  /// The URI of the next part, if the document is longer; otherwise empty.
  std::string next_uri = {};
};

/// Values for a variable of a template or an argument of a prompt.
struct Completions {
  /// The first ones. A protocol may cut the list.
  std::vector<std::string> values;
  /// There are more than `values`.
  bool has_more = false;
};

/// Somebody who waits for changes. Its destructor ends the waiting; the function is not called
/// afterwards.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// Any thread may call the functions.
class ResourceSource {
 public:
  virtual ~ResourceSource() = default;

  /// Returns the documents of this caller, in an order that does not change by itself.
  virtual std::vector<ResourceInfo> List(const Context& /*context*/) const { return {}; }
  virtual std::vector<ResourceTemplate> Templates() const { return {}; }
  /// Returns nothing if the URI is none of this source. Fails if the document cannot be read; the
  /// error has ErrorKind::kNotFound if there is none for this caller.
  virtual std::optional<Result<ResourceText>> Read(const Context& context,
                                                   std::string_view uri) const = 0;
  /// Calls `changed` from another thread, soon after the document has changed, and at most a few
  /// times a second. Returns nothing if the URI is none of this source. `changed` must not wait.
  virtual std::optional<Result<std::unique_ptr<Watch>>> WatchFor(
      const Context& /*context*/, std::string_view /*uri*/,
      std::function<void()> /*changed*/) const {
    return std::nullopt;
  }
  /// Returns values of a variable that begin with `begin`, or nothing for the template of another
  /// source.
  virtual std::optional<Completions> Complete(const Context& /*context*/,
                                              std::string_view /*uri_template*/,
                                              std::string_view /*variable*/,
                                              std::string_view /*begin*/) const {
    return std::nullopt;
  }
};

}  // namespace polybox::tools

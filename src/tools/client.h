// What a tool or a prompt can ask of the client in the middle of a call: answers of the person or
// of the client's model, a line in the client's log, and time beyond the client's patience. How a
// question travels depends on the version of the protocol; the code of the tool does not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace polybox::tools {

/// A request to the client, such as elicitation/create or sampling/createMessage.
struct Question {
  /// Names the answer. A question with the same key in the same call is the same question.
  std::string key;
  std::string method;
  json::Object params = {};
};

/// The severities of syslog, in rising order.
enum class LogLevel { kDebug, kInfo, kNotice, kWarning, kError, kCritical, kAlert, kEmergency };

/// One call, as its client sees it. The functions are for the thread of the call.
class Client {
 public:
  virtual ~Client() = default;

  /// Returns whether the client can answer requests of this kind: "elicitation", "sampling",
  /// "roots". A client that never said what it can do is asked.
  virtual bool Can(std::string_view capability) const = 0;
  /// Returns the answers by key. Fails if the client cannot be asked, or not yet. The caller must
  /// then return the error unchanged and leave no trace: a client without a connection of its own
  /// is asked by the answer to the call, and the tool is called anew with what the client said.
  virtual Result<json::Object> Ask(const std::vector<Question>& questions) = 0;
  /// Writes to the client's log, if the client wants lines of this level.
  virtual void Log(LogLevel level, std::string_view text) = 0;
  /// Answers the call with a handle under which the client finds the result later. Returns false if
  /// the client takes no handles or has too many: the call then goes on, and the client waits. A
  /// later Ask() waits for the answer. Has no effect when it is called again.
  virtual bool BecomeTask() = 0;
};

}  // namespace polybox::tools

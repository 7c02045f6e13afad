// One request and its answer, as a door sees them: without sockets and without an HTTP library. A
// door is a set of routes. The server (server.h) finds the route, and the door answers through the
// Exchange.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace polybox::http {

/// Returns whether two header field names are equal; case does not matter.
bool SameName(std::string_view a, std::string_view b);

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  /// In upper case, as in the request line.
  std::string method;
  /// The path, percent-decoded once and without the query.
  std::string path;
  /// The request target of the request line, not decoded.
  std::string target;
  Headers headers;
  std::string body;
  /// Whether the request has a Content-Length; a chunked body has none.
  bool has_content_length = false;
  /// The X-Request-ID of the request, or an id that the server made.
  std::string id;
  /// Identifies the client when the engine shares its slots fairly: the label of its token, else
  /// its address.
  std::string client;

  /// Returns the first value of the field, in any case; "" when the request has no such field.
  std::string_view Header(std::string_view name) const;
};

/// What ends an answer.
enum class AnswerEnd {
  kDoor,    ///< The door. A server that drains waits for the answer.
  kClient,  ///< The client, such as with a stream of events. A server that drains ends the answer.
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
  /// For Begin(): kClient if only the client ends this answer, also where the route says kDoor.
  AnswerEnd answer_end = AnswerEnd::kDoor;
};

/// What the log says about a run. Contains only words of polybox's own tables.
struct RunNote {
  /// The id of a language.
  std::string language;
  /// The result of the run; "" while it is not known.
  std::string outcome;
};

/// A door calls either Respond() once, or Begin(), then Write() any number of times, then End()
/// once. Any thread may call these functions. After the client has gone they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;
  virtual void Respond(Response response) = 0;
  /// Starts an answer whose body is sent in parts and has no known length. `head.body` is ignored.
  virtual void Begin(Response head) = 0;
  virtual void Write(std::string_view part) = 0;
  virtual void End() = 0;
  /// Registers `gone`, which is called at most once, when the client goes away before the answer is
  /// complete. If the client has already gone, `gone` is called at once.
  virtual void OnDisconnect(std::function<void()> gone) = 0;
  /// For the request's log line. The last note before the end of the answer is used.
  virtual void Note(RunNote note) = 0;
};

using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;

/// Reasons for which the server refuses a request before a handler sees it. The door writes the
/// answer.
enum class Fault {
  kNotFound,
  kMethodNotAllowed,
  kBodyTooLarge,
  kOverloaded,  ///< The bodies of all requests use the memory limit up.
  kUnauthorized,
  kForeignHost,    ///< The Host header names no host that this server answers for (sites.h).
  kForeignOrigin,  ///< A page of another web site sent the request.
  kDraining,       ///< The server is about to end and starts nothing new.
  kInternal,
};

/// Which clients may send requests to a route.
enum class Access {
  kClients,  ///< Clients with a token if the server has tokens, and pages of allowed sites.
  kProbes,   ///< Everybody but pages of other sites, also in HTTP/1.0 without a Host header.
  /// Also pages of any site. The answer says one word about the server at most; the rest of it is
  /// the same on every server.
  kPages,
};

struct Route {
  std::string method;
  /// A path, or one that ends in "/*", which matches every path below it.
  std::string path;
  Handler handler;
  /// The largest body of a request to this route, in bytes; 0 for the server's default.
  std::size_t largest_body = 0;
  Access access = Access::kClients;
  /// The level of the log line of a request that succeeds. Probes arrive every second, so their
  /// routes have kDebug.
  log::Level log_level = log::Level::kInfo;
  AnswerEnd answer_end = AnswerEnd::kDoor;
};

/// A public HTTP API: its routes, and its format for errors.
struct Door {
  std::string name;
  std::vector<Route> routes;
  /// Returns the answer to a fault. The server adds the Allow header to kMethodNotAllowed, and
  /// Retry-After to kOverloaded.
  std::function<Response(Fault fault, const Request& request)> refuse;
  /// Path prefixes, such as "/v1/", whose faults this door answers even where no route matches. A
  /// door without prefixes answers the faults of all other paths.
  std::vector<std::string> fault_prefixes;
  /// Values of this door that depend on its settings, for the API document (openapi.h). Each value
  /// is JSON.
  std::map<std::string, std::string> facts = {};
};

}  // namespace polybox::http

// One request and its answer, as doors see them: no socket and no HTTP library. A door is a set of
// routes; the server (server.h) finds the route, and the door answers through the exchange.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polybox::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  /// In capitals.
  std::string method;
  /// Percent-decoded once, without the query.
  std::string path;
  /// What stood in the request line, undecoded.
  std::string target;
  Headers headers;
  std::string body;
  /// Whether the length of the body was announced; a chunked body's is not.
  bool has_content_length = false;
  /// X-Request-ID, or one that the server made.
  std::string id;
  /// Whose it is, for taking turns: its token, else its address.
  std::string client;

  /// The first of that name, in any case; "" when there is none.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

/// One of the two: Respond() once, or Begin() and then Write() any number of times and End() once.
/// All may be called on any thread, and after the client has gone: then they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;
  virtual void Respond(Response response) = 0;
  /// A body of unknown length, sent as it comes; `head.body` is ignored.
  virtual void Begin(Response head) = 0;
  virtual void Write(std::string_view part) = 0;
  virtual void End() = 0;
  /// Called at most once, when the client goes away before the answer is complete; at once when it
  /// has gone already.
  virtual void OnDisconnect(std::function<void()> gone) = 0;
};

using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;

/// How a door refuses what the server itself finds wrong before any handler sees it.
enum class Fault {
  kNotFound,
  kMethodNotAllowed,
  kBodyTooLarge,
  kOverloaded,  ///< Too many bodies are in memory already.
  kUnauthorized,
  kInternal,
};

struct Route {
  std::string method;
  /// A path, or one that ends in "/*" for everything below it.
  std::string path;
  Handler handler;
  /// Of the body of a request to it, in bytes; 0 for the server's default.
  std::size_t largest_body = 0;
};

/// A front door: a contract's routes and its way to say that something is wrong.
struct Door {
  std::string name;
  std::vector<Route> routes;
  /// The server adds the Allow header to kMethodNotAllowed, and Retry-After to kOverloaded.
  std::function<Response(Fault fault, const Request& request)> refuse;
  /// Paths whose faults are this door's even where no route is: "/v1/". The door without prefixes
  /// is asked for all other paths.
  std::vector<std::string> fault_prefixes;
  /// What the API document (openapi.h) says of this door that depends on its settings, as JSON.
  std::map<std::string, std::string> facts = {};
};

}  // namespace polybox::http

#include "http/connection.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "base/scope_exit.h"
#include "http/head.h"
#include "http/reply.h"

namespace polybox::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

using std::chrono::steady_clock;
using Stream = beast::basic_stream<asio::generic::stream_protocol, Strand>;
using Parser = beast::http::request_parser<beast::http::string_body>;
using Timer = asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, Strand>;
using ErrorCode = boost::system::error_code;
template <typename T>
using Awaitable = asio::awaitable<T, Strand>;

constexpr int kClientGone = 499;  // nginx's number, in our log only
constexpr int kTooSlow = 408;     // in our log only
// Most requests fit; there is one such buffer for every connection.
constexpr std::size_t kReadSize = 16 * 1024;
// What we hold of requests that come before the answer to this one.
constexpr std::size_t kMostAhead = 64 * 1024;

/// The door's end of a request. The connection holds the reply alone: when the last one who could
/// answer lets go of this, the reply learns of it.
class DoorExchange : public Exchange {
 public:
  DoorExchange(Request request, BodyMemory::Share share, std::shared_ptr<Reply> reply)
      : share_(std::move(share)), request_(std::move(request)), reply_(std::move(reply)) {}
  ~DoorExchange() override { reply_->Abandon(); }
  DoorExchange(const DoorExchange&) = delete;
  DoorExchange& operator=(const DoorExchange&) = delete;

  const Request& request() const override { return request_; }
  void Respond(Response response) override { reply_->Respond(std::move(response)); }
  void Begin(Response head) override { reply_->Begin(std::move(head)); }
  void Write(std::string_view part) override { reply_->Write(part); }
  void End() override { reply_->End(); }
  void OnDisconnect(std::function<void()> gone) override { reply_->OnDisconnect(std::move(gone)); }

 private:
  /// Of the request's body; goes after it.
  BodyMemory::Share share_;
  Request request_;
  std::shared_ptr<Reply> reply_;
};

/// A request on its way through the connection.
struct Turn {
  BodyMemory::Share share;
  Request request = {};
  Match match = {};
  steady_clock::time_point began;
  unsigned version = 11;
  bool keep_alive = true;
  /// The client may still be sending a body that nobody will read.
  bool unread = false;
  int status = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

auto Into(ErrorCode& error) {
  return asio::redirect_error(asio::use_awaitable_t<Strand>(), error);
}

/// What to answer to a request that could not be read; 0 when nobody is there to answer.
int StatusOfReadError(const ErrorCode& error) {
  if (error == beast::error::timeout) return kTooSlow;
  if (error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow) {
    return 431;
  }
  if (error == beast::http::error::bad_version) return 505;
  if (error == beast::http::error::end_of_stream || error == beast::http::error::partial_message) {
    return 0;
  }
  return error.category() == beast::http::make_error_code(beast::http::error{}).category() ? 400
                                                                                           : 0;
}

class BeastConnection : public Connection, public std::enable_shared_from_this<BeastConnection> {
 public:
  BeastConnection(Socket socket, std::string client, const Shared& shared)
      : stream_(std::move(socket)),
        news_(stream_.get_executor()),
        client_(std::move(client)),
        shared_(shared) {
    news_.expires_at(steady_clock::time_point::max());
  }

  void Start(std::function<void()> ended) {
    asio::co_spawn(
        stream_.get_executor(), [self = shared_from_this()] { return self->Run(); },
        [self = shared_from_this(), ended = std::move(ended)](const std::exception_ptr& failure) {
          if (failure) self->shared_.log.Error("a connection ended in an exception");
          ended();
        });
  }

  steady_clock::time_point IdleSince() const override { return idle_since_; }

  void CloseIfIdle() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      if (self->IdleSince() != steady_clock::time_point::max()) self->Close();
    });
  }

  void Abort() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->aborted_ = true;
      self->Close();
      self->news_.cancel();
    });
  }

 private:
  Awaitable<void> Run() {
    bool more = true;
    for (bool first = true; more && !aborted_; first = false) more = co_await ServeOne(first);
    Close();
  }

  void Close() {
    ErrorCode ignored;
    stream_.socket().close(ignored);
  }

  /// One request and its answer; whether another may follow.
  Awaitable<bool> ServeOne(bool first) {
    if (!co_await AwaitFirstByte(first)) co_return false;
    Turn turn{.share = BodyMemory::Share(shared_.bodies), .began = steady_clock::now()};
    Parser parser;
    parser.header_limit(options().limits.head);
    parser.body_limit(boost::none);  // set once the route is known
    ErrorCode error;
    stream_.expires_at(turn.began + options().timeouts.head);
    co_await beast::http::async_read_header(stream_, buffer_, parser, Into(error));
    if (error) co_return co_await GiveUp(turn, StatusOfReadError(error));
    const auto deadline = turn.began + options().timeouts.request;
    turn.began = steady_clock::now();
    if (const int status = TakeHead(parser, turn); status != 0) {
      co_return co_await GiveUp(turn, status);
    }
    std::optional<Response> refusal = Check(turn);
    const std::optional<Fault> fault = co_await ReadBody(parser, turn, deadline, refusal);
    if (fault) refusal = Refuse(turn.match, *fault, turn.request);
    if (turn.status != 0) co_return co_await GiveUp(turn, turn.status);
    if (aborted_) co_return false;
    if (refusal) {
      co_await WriteWhole(turn, std::move(*refusal));
    } else {
      turn.request.body = std::move(parser.get().body());
      co_await Handle(turn);
    }
    co_return co_await Finish(turn);
  }

  Awaitable<bool> AwaitFirstByte(bool first) {
    if (buffer_.size() > 0) co_return true;
    if (shared_.draining && !first) co_return false;
    const Timeouts& timeouts = options().timeouts;
    stream_.expires_after(first ? timeouts.head : timeouts.idle);
    ErrorCode error;
    idle_since_ = steady_clock::now();
    const std::size_t count =
        co_await stream_.async_read_some(buffer_.prepare(kReadSize), Into(error));
    idle_since_ = steady_clock::time_point::max();
    buffer_.commit(count);
    co_return !error;
  }

  /// The head as the doors see it; the status to refuse it with, 0 when it is fine.
  int TakeHead(const Parser& parser, Turn& turn) {
    const auto& head = parser.get();
    turn.version = head.version();
    turn.keep_alive = head.keep_alive() && !shared_.draining;
    turn.request.method = std::string(head.method_string());
    turn.request.target = std::string(head.target());
    for (const auto& field : head) {
      turn.request.headers.emplace_back(field.name_string(), field.value());
    }
    const std::string_view id = turn.request.Header("X-Request-ID");
    turn.request.id = IsSaneRequestId(id) ? std::string(id) : MakeRequestId();
    turn.request.client = client_;
    turn.request.has_content_length = parser.content_length().has_value();
    std::optional<std::string> path = DecodePath(turn.request.target);
    if (path) turn.request.path = std::move(*path);
    if (turn.version != 10 && turn.version != 11) return 505;
    if (turn.request.headers.size() > options().limits.fields) return 431;
    if (!path || (turn.version == 11 && head.count(beast::http::field::host) != 1)) return 400;
    const std::string_view expect = turn.request.Header("Expect");
    if (!expect.empty() && !beast::iequals(expect, "100-continue")) return 417;
    turn.match = shared_.router.Find(turn.request.method, turn.request.path);
    return 0;
  }

  /// What is wrong with a request before its body is read.
  std::optional<Response> Check(Turn& turn) {
    const Tokens& tokens = options().tokens;
    if (!tokens.empty()) {
      std::string label = tokens.LabelOf(turn.request);
      const std::string name = turn.request.method + " " + turn.request.path;
      if (label.empty() && std::ranges::count(options().open, name) == 0) {
        return Refuse(turn.match, Fault::kUnauthorized, turn.request);
      }
      if (!label.empty()) turn.request.client = std::move(label);
    }
    if (turn.match.route == nullptr) return Refuse(turn.match, turn.match.fault, turn.request);
    return std::nullopt;
  }

  /// Reads the body, up to what the route allows. What is refused already has its body read only to
  /// keep the connection, if that is cheap. `turn.status` is set when the request cannot be read.
  Awaitable<std::optional<Fault>> ReadBody(Parser& parser, Turn& turn,
                                           steady_clock::time_point deadline,
                                           const std::optional<Response>& refusal) {
    if (parser.is_done()) co_return std::nullopt;
    const bool waits = turn.version == 11 && !turn.request.Header("Expect").empty();
    const std::size_t limit = refusal ? options().limits.unwanted_body : LimitOf(turn);
    const std::uint64_t length = parser.content_length().value_or(0);
    if (length > limit || !shared_.bodies->Has(length) || (refusal && waits)) {
      turn.unread = !waits;
      turn.keep_alive = false;
      if (refusal) co_return std::nullopt;
      co_return length > limit ? Fault::kBodyTooLarge : Fault::kOverloaded;
    }
    stream_.expires_at(deadline);
    ErrorCode error;
    if (waits && buffer_.size() == 0) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), Into(error));
    }
    parser.body_limit(limit);
    bool has_room = true;
    while (!error && has_room && !parser.is_done()) {
      co_await beast::http::async_read_some(stream_, buffer_, parser, Into(error));
      has_room = turn.share.Grow(MemoryOf(parser));
    }
    turn.bytes_in = parser.get().body().size();
    if (!error && has_room) co_return std::nullopt;
    turn.keep_alive = false;
    turn.unread = true;
    if (!has_room) {
      parser.get().body() = std::string();
      turn.share.Release();
      co_return refusal ? std::nullopt : std::optional(Fault::kOverloaded);
    }
    if (error == beast::http::error::body_limit) {
      co_return refusal ? std::nullopt : std::optional(Fault::kBodyTooLarge);
    }
    turn.status = StatusOfReadError(error);
    if (turn.status == 0) aborted_ = true;
    co_return std::nullopt;
  }

  std::size_t LimitOf(const Turn& turn) const {
    const std::size_t limit = turn.match.route->largest_body;
    // What could never be read is too large, however quiet it is.
    return std::min(limit == 0 ? options().limits.body : limit, shared_.bodies->most());
  }

  /// A body whose length was announced has all its room from the start, but only what has come is
  /// really memory; any other grows in steps.
  static std::size_t MemoryOf(const Parser& parser) {
    const std::string& body = parser.get().body();
    return parser.content_length() ? body.size() : std::max(body.size(), body.capacity());
  }

  Awaitable<void> Handle(Turn& turn) {
    const auto reply = std::make_shared<Reply>(
        [self = weak_from_this(), executor = stream_.get_executor()] {
          asio::post(executor, [self] {
            if (const auto connection = self.lock()) connection->news_.cancel();
          });
        },
        options().limits.waiting_parts);
    // The door may keep its end for as long as it likes, also when the server is gone.
    const ScopeExit detach([&reply] { reply->Detach(); });
    CallHandler(turn, reply);
    co_await Answer(turn, *reply);
    co_await StopWatching();
    reply->Disconnect();
  }

  /// The request moves to the door; the turn keeps what refusing and the log need.
  void CallHandler(Turn& turn, const std::shared_ptr<Reply>& reply) {
    Request request = std::move(turn.request);
    turn.request = Request();
    turn.request.method = request.method;
    turn.request.path = request.path;
    turn.request.target = request.target;
    turn.request.id = request.id;
    turn.request.client = request.client;
    const auto exchange =
        std::make_shared<DoorExchange>(std::move(request), std::move(turn.share), reply);
    const auto call = [&shared = shared_, match = turn.match, exchange, reply] {
      CallDoor(shared, match, exchange, *reply);
    };
    // To read a request is a matter of its size, and there is nobody else in this loop.
    constexpr std::size_t kLarge = 64 * 1024;
    if (exchange->request().body.size() < kLarge) return call();
    asio::post(shared_.large, call);
  }

  static void CallDoor(const Shared& shared, const Match& match,
                       const std::shared_ptr<DoorExchange>& exchange, Reply& reply) {
    try {
      match.route->handler(exchange);
    } catch (const std::exception& failure) {
      shared.log.Error("a door threw an exception",
                       {{"door", match.door->name}, {"what", failure.what()}});
      reply.Abandon();
    } catch (...) {
      shared.log.Error("a door threw something", {{"door", match.door->name}});
      reply.Abandon();
    }
  }

  /// Writes what the door answers, as it comes, until it is complete or the client is gone.
  Awaitable<void> Answer(Turn& turn, Reply& reply) {
    bool begun = false;
    while (!aborted_) {
      Reply::News news = reply.Take();
      if (news.abandoned && !begun && !news.head) {
        co_return co_await WriteWhole(turn, Refuse(turn.match, Fault::kInternal, turn.request));
      }
      if (news.head && !news.in_parts) {
        co_return co_await WriteWhole(turn, std::move(*news.head));
      }
      if (news.head) {
        begun = true;
        if (!co_await WriteHead(turn, *news.head)) co_return;
      }
      if (!news.part.empty() && !co_await WritePart(turn, news.part)) co_return;
      // The end of the connection, not of the body, tells the client that something is missing.
      if (news.overflowed || (news.abandoned && begun)) break;
      if (news.complete) {
        if (begun) co_await WriteLastPart(turn);
        co_return;
      }
      if (gone_) break;
      // While we wrote, we were not waiting: what came in then has woken nobody.
      if (news.head || !news.part.empty()) continue;
      Watch();
      ErrorCode cancelled;
      co_await news_.async_wait(Into(cancelled));
    }
    turn.keep_alive = false;
    turn.status = kClientGone;
  }

  /// Notices that the client goes away while a door works. Bytes that come instead are the next
  /// request's and are kept; when too many come, we stop looking.
  void Watch() {
    if (watching_ || gone_ || buffer_.size() >= kMostAhead) return;
    watching_ = true;
    stream_.socket().async_read_some(
        buffer_.prepare(kReadSize),
        asio::bind_cancellation_slot(
            stop_watching_.slot(), [self = shared_from_this()](ErrorCode error, std::size_t count) {
              self->watching_ = false;
              self->buffer_.commit(count);
              if (error && error != asio::error::operation_aborted) self->gone_ = true;
              self->news_.cancel();
            }));
  }

  Awaitable<void> StopWatching() {
    if (watching_) stop_watching_.emit(asio::cancellation_type::terminal);
    ErrorCode cancelled;
    while (watching_) co_await news_.async_wait(Into(cancelled));
  }

  HeadFacts FactsOf(const Turn& turn) const {
    return {.version = turn.version,
            .keep_alive = turn.keep_alive,
            .request_id = turn.request.id,
            .now = std::chrono::system_clock::now()};
  }

  static void AddAllow(const Turn& turn, Response& response) {
    if (turn.request.method != "OPTIONS" || response.status >= 300) return;
    AddIfMissing(response.headers, "Allow", turn.match.allow);
  }

  Awaitable<void> WriteWhole(Turn& turn, Response response) {
    AddAllow(turn, response);
    turn.keep_alive = turn.keep_alive && !shared_.draining;
    HeadFacts facts = FactsOf(turn);
    facts.length = response.body.size();
    const std::string head = FormatHead(response, facts);
    const bool empty =
        turn.request.method == "HEAD" || response.status == 204 || response.status == 304;
    const std::array<asio::const_buffer, 2> pieces = {
        asio::buffer(head), asio::buffer(response.body.data(), empty ? 0 : response.body.size())};
    turn.status = response.status;
    co_await Send(turn, pieces);
  }

  Awaitable<bool> WriteHead(Turn& turn, Response& head) {
    HeadFacts facts = FactsOf(turn);
    facts.framing = turn.version == 10 ? Framing::kClose : Framing::kChunked;
    if (turn.version == 10) facts.keep_alive = turn.keep_alive = false;
    const std::string text = FormatHead(head, facts);
    turn.status = head.status;
    co_return co_await Send(turn, asio::buffer(text));
  }

  Awaitable<bool> WritePart(Turn& turn, const std::string& part) {
    if (turn.request.method == "HEAD") co_return true;
    if (turn.version == 10) co_return co_await Send(turn, asio::buffer(part));
    const std::string size = fmt::format("{:x}\r\n", part.size());
    const std::array<asio::const_buffer, 3> pieces = {asio::buffer(size), asio::buffer(part),
                                                      asio::buffer("\r\n", 2)};
    co_return co_await Send(turn, pieces);
  }

  Awaitable<void> WriteLastPart(Turn& turn) {
    constexpr std::string_view kLast = "0\r\n\r\n";
    if (turn.request.method == "HEAD" || turn.version == 10) co_return;
    co_await Send(turn, asio::buffer(kLast));
  }

  template <typename Buffers>
  Awaitable<bool> Send(Turn& turn, const Buffers& buffers) {
    ErrorCode error;
    stream_.expires_after(options().timeouts.write);
    turn.bytes_out += co_await asio::async_write(stream_, buffers, Into(error));
    if (!error) co_return true;
    turn.status = kClientGone;
    turn.keep_alive = false;
    turn.unread = false;
    co_return false;
  }

  /// A request that cannot be understood: the connection cannot be used any further.
  Awaitable<bool> GiveUp(Turn& turn, int status) {
    if (status == 0 || aborted_) co_return false;
    turn.keep_alive = false;
    turn.unread = true;
    if (turn.request.id.empty()) turn.request.id = MakeRequestId();
    if (turn.request.client.empty()) turn.request.client = client_;
    if (status == kTooSlow) {
      // The stream has closed the connection already.
      turn.status = status;
      Observe(turn);
      co_return false;
    }
    co_await WriteWhole(turn, PlainResponse(status));
    co_return co_await Finish(turn);
  }

  /// The request is over: says so, and whether another may follow.
  Awaitable<bool> Finish(Turn& turn) {
    Observe(turn);
    if (turn.keep_alive && !gone_) co_return true;
    if (turn.unread) co_await Linger();
    co_return false;
  }

  void Observe(const Turn& turn) const {
    if (!options().observe) return;
    const Match& match = turn.match;
    const Request& request = turn.request;
    options().observe({.door = match.door == nullptr ? std::string_view() : match.door->name,
                       .route = match.route == nullptr ? std::string_view() : match.route->path,
                       .method = request.method,
                       .path = request.path,
                       .id = request.id,
                       .client = request.client,
                       .status = turn.status,
                       .bytes_in = turn.bytes_in,
                       .bytes_out = turn.bytes_out,
                       .time = steady_clock::now() - turn.began});
  }

  /// Closing while the client still sends would reset the connection and take our answer with it.
  Awaitable<void> Linger() {
    ErrorCode error;
    stream_.socket().shutdown(Socket::shutdown_send, error);
    stream_.expires_after(options().timeouts.linger);
    buffer_.clear();
    while (!error && !aborted_) {
      co_await stream_.async_read_some(buffer_.prepare(kReadSize), Into(error));
    }
  }

  const ServerOptions& options() const { return shared_.options; }

  Stream stream_;
  beast::flat_buffer buffer_;
  /// Never expires; cancelled when there is something to look at.
  Timer news_;
  asio::cancellation_signal stop_watching_;
  bool watching_ = false;
  bool gone_ = false;
  bool aborted_ = false;
  std::atomic<steady_clock::time_point> idle_since_ = steady_clock::time_point::max();
  std::string client_;
  const Shared& shared_;
};

}  // namespace

std::shared_ptr<Connection> StartConnection(Socket socket, std::string client, const Shared& shared,
                                            std::function<void()> ended) {
  auto connection = std::make_shared<BeastConnection>(std::move(socket), std::move(client), shared);
  connection->Start(std::move(ended));
  return connection;
}

}  // namespace polybox::http

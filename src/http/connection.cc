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
#include "http/framing.h"
#include "http/head.h"
#include "http/reply.h"
#include "http/turn.h"

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

// Most requests fit. Every connection has one such buffer.
constexpr std::size_t kReadSize = 16 * 1024;
// The largest amount of later requests that is kept until the current answer is sent.
constexpr std::size_t kMostAhead = 64 * 1024;

auto Into(ErrorCode& error) {
  return asio::redirect_error(asio::use_awaitable_t<Strand>(), error);
}

/// Returns the status for a request that could not be read; 0 when the client has gone.
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
  BeastConnection(Socket socket, Arrival arrival, const Shared& shared)
      : stream_(std::move(socket)),
        news_(stream_.get_executor()),
        arrival_(std::move(arrival)),
        shared_(shared) {
    news_.expires_at(steady_clock::time_point::max());
    // The buffer's size bounds chunk extensions and trailers, which Beast does not limit.
    buffer_.max_size(std::max<std::size_t>(options().limits.head, kMostAhead) + kReadSize);
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

  void CloseIfIdle(steady_clock::duration time) override {
    asio::post(stream_.get_executor(), [self = shared_from_this(), time] {
      ErrorCode none;  // a request that has arrived counts, even if it was not read yet
      if (self->stream_.socket().available(none) > 0) return;
      if (self->IdleSince() <= steady_clock::now() - time) self->Close();
    });
  }

  void Drain() override {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->news_.cancel(); });
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

  /// Serves one request. Returns whether another request may follow on this connection.
  Awaitable<bool> ServeOne(bool first) {
    if (!co_await AwaitFirstByte(first)) co_return false;
    Turn turn{.share = BodyMemory::Share(shared_.bodies), .began = steady_clock::now()};
    Parser parser;
    if (!co_await ReadHead(parser, turn)) co_return co_await GiveUp(turn, turn.status);
    const auto deadline = turn.began + options().timeouts.request;
    turn.began = steady_clock::now();
    if (const int status = TakeHead(parser, turn); status != 0) {
      co_return co_await GiveUp(turn, status);
    }
    std::optional<Response> refusal = Check(turn);
    const std::optional<Fault> fault = co_await ReadBody(parser, turn, deadline, refusal);
    if (fault) refusal = RefuseTurn(turn, *fault);
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

  /// Reads and parses a head. Returns false with `turn.status` when there is no request to serve;
  /// the status is 0 when the client has gone.
  Awaitable<bool> ReadHead(Parser& parser, Turn& turn) {
    stream_.expires_at(turn.began + options().timeouts.head);
    HeadEnd end;
    ErrorCode error;
    // RFC 9112, 2.2: old clients send an empty line after a body.
    bool may_skip = true;
    while (true) {
      const bool undecided = may_skip && (Received().empty() || Received() == "\r");
      if (may_skip && !undecided) {
        if (Received().starts_with("\r\n")) buffer_.consume(2);
        may_skip = false;
      }
      const HeadEnd::State state = undecided ? HeadEnd::State::kMore : end.Look(Received());
      if (state == HeadEnd::State::kFound) break;
      if (state == HeadEnd::State::kBad) {
        turn.why = "a head has no control characters, and its lines end with CR LF";
        co_return Fails(turn, 400);
      }
      if (buffer_.size() >= options().limits.head) co_return Fails(turn, 431);
      buffer_.commit(co_await stream_.async_read_some(buffer_.prepare(kReadSize), Into(error)));
      if (error) co_return Fails(turn, StatusOfReadError(error));
    }
    co_return ParseHead(parser, Received().substr(0, end.size()), turn);
  }

  static bool Fails(Turn& turn, int status) {
    turn.status = status;
    return false;
  }

  /// Takes `head` from the buffer. ReadFraming() and Beast must agree about the length of the body.
  bool ParseHead(Parser& parser, std::string_view head, Turn& turn) {
    if (head.size() > options().limits.head) return Fails(turn, 431);
    const Result<Framing> framing = ReadFraming(head);
    if (!framing.ok()) {
      turn.why = framing.error().message();
      return Fails(turn, 400);
    }
    parser.header_limit(options().limits.head);
    parser.body_limit(boost::none);  // no limit until the route is known
    ErrorCode error;
    const std::size_t taken = parser.put(asio::buffer(head), error);
    if (error) return Fails(turn, StatusOfReadError(error));
    const bool agree = taken == head.size() && parser.is_header_done() &&
                       parser.chunked() == framing->chunked &&
                       (parser.content_length().has_value() == framing->length.has_value()) &&
                       parser.content_length().value_or(0) == framing->length.value_or(0);
    if (!agree) return Fails(turn, 400);
    buffer_.consume(taken);
    return true;
  }

  std::string_view Received() const {
    const auto bytes = buffer_.cdata();
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Copies the head into `turn.request`. Returns 0, or the status with which to refuse it.
  int TakeHead(const Parser& parser, Turn& turn) {
    const auto& head = parser.get();
    turn.version = head.version();
    // Parser::keep_alive() reads all Connection fields; the message's own function reads only the
    // first.
    turn.keep_alive = parser.keep_alive() && !shared_.draining;
    turn.request.method = std::string(head.method_string());
    turn.request.target = std::string(head.target());
    for (const auto& field : head) {
      turn.request.headers.emplace_back(field.name_string(), field.value());
    }
    const std::string_view id = turn.request.Header("X-Request-ID");
    turn.request.id = IsSaneRequestId(id) ? std::string(id) : MakeRequestId();
    turn.request.client = arrival_.client;
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

  /// Returns the refusal of a request that is refused before its body is read.
  std::optional<Response> Check(Turn& turn) {
    const bool is_open = turn.match.access != Access::kClients;
    const Sites& sites = options().sites;
    turn.page_fields = sites.AnswerFields(turn.request);
    if (turn.match.access != Access::kPages) {
      const std::optional<Fault> fault = sites.Check(turn.request, arrival_, is_open);
      if (fault) return RefuseTurn(turn, *fault);
    }
    if (auto preflight = sites.Preflight(turn.request, turn.match.allow)) return preflight;
    const Tokens& tokens = options().tokens;
    if (!tokens.empty()) {
      std::string label = tokens.LabelOf(turn.request);
      if (label.empty() && !is_open) {
        return RefuseTurn(turn, Fault::kUnauthorized);
      }
      if (!label.empty()) turn.request.client = std::move(label);
    }
    if (turn.match.route == nullptr) return RefuseTurn(turn, turn.match.fault);
    if (shared_.draining && StartsSomething(turn)) return RefuseTurn(turn, Fault::kDraining);
    return std::nullopt;
  }

  static Response RefuseTurn(Turn& turn, Fault fault) {
    turn.fault = fault;
    return Refuse(turn.match, fault, turn.request);
  }

  /// Reads the body, up to the limit of the route. The body of a request with a `refusal` is read
  /// only to keep the connection, if it is small. Sets `turn.status` when the body cannot be read.
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
    auto check_extensions = [](std::uint64_t, std::string_view text, ErrorCode& bad) {
      // Beast accepts a bare LF in a quoted string, which other parsers take for the end of the
      // line.
      if (HasControl(text)) bad = beast::http::error::bad_chunk_extension;
    };
    parser.on_chunk_header(check_extensions);
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
    // A body larger than all body memory can never be read, even when no other request has one.
    return std::min(limit == 0 ? options().limits.body : limit, shared_.bodies->most());
  }

  /// A body with a known length has its capacity from the start, but only received bytes use real
  /// memory. Any other body grows in steps.
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
    // The door may keep the reply after the end of this connection and of the server.
    const ScopeExit detach([&reply] { reply->Detach(); });
    CallHandler(turn, reply);
    co_await Answer(turn, *reply);
    co_await StopWatching();
    turn.note = reply->note();
    reply->Disconnect();
  }

  /// Moves the request to the door. The turn keeps the members that refusals and the log need.
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
    // A door may parse the body at once, which takes long for a large one and would block this
    // loop.
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
      shared.log.Error("a door threw an object that is no exception", {{"door", match.door->name}});
      reply.Abandon();
    }
  }

  /// Writes the door's answer as it arrives, until the answer is complete or the client has gone.
  Awaitable<void> Answer(Turn& turn, Reply& reply) {
    bool begun = false;
    bool is_endless = turn.match.route->answer_end == AnswerEnd::kClient;
    while (!aborted_ && !(is_endless && shared_.draining)) {
      Reply::News news = reply.Take();
      if (news.abandoned && !begun && !news.head) {
        co_return co_await WriteWhole(turn, RefuseTurn(turn, Fault::kInternal));
      }
      if (news.head && !news.in_parts) {
        co_return co_await WriteWhole(turn, std::move(*news.head));
      }
      if (news.head) {
        begun = true;
        is_endless = is_endless || news.head->answer_end == AnswerEnd::kClient;
        if (!co_await WriteHead(turn, *news.head)) co_return;
      }
      if (!news.part.empty() && !co_await WritePart(turn, news.part)) co_return;
      // Closing the connection without the last chunk tells the client that the body is incomplete.
      if (news.overflowed || (news.abandoned && begun)) break;
      if (news.complete) {
        if (begun) co_await WriteLastPart(turn);
        co_return;
      }
      if (gone_) break;
      // News that arrived during a write woke nobody, so it is taken before the next wait.
      if (news.head || !news.part.empty()) continue;
      Watch();
      ErrorCode cancelled;
      co_await news_.async_wait(Into(cancelled));
    }
    turn.keep_alive = false;
    if (begun && is_endless && shared_.draining) co_return co_await WriteLastPart(turn);
    turn.status = kClientGone;
  }

  /// Reads while a door works, to notice when the client goes away. Received bytes belong to the
  /// next request and are kept. When kMostAhead bytes have arrived, reading stops.
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

  static void AddPageFields(const Turn& turn, Response& response) {
    response.headers.insert(response.headers.end(), turn.page_fields.begin(),
                            turn.page_fields.end());
  }

  Awaitable<void> WriteWhole(Turn& turn, Response response) {
    AddAllow(turn, response);
    AddPageFields(turn, response);
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
    AddPageFields(turn, head);
    HeadFacts facts = FactsOf(turn);
    facts.body_end = turn.version == 10 ? BodyEnd::kClose : BodyEnd::kChunked;
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

  /// Answers a request that cannot be parsed. The connection cannot be used any further.
  Awaitable<bool> GiveUp(Turn& turn, int status) {
    if (status == 0 || aborted_) co_return false;
    turn.keep_alive = false;
    turn.unread = true;
    if (turn.request.id.empty()) turn.request.id = MakeRequestId();
    if (turn.request.client.empty()) turn.request.client = arrival_.client;
    if (status == kTooSlow) {
      // The timeout of the stream has already closed the connection.
      turn.status = status;
      Observe(turn);
      co_return false;
    }
    co_await WriteWhole(turn, PlainResponse(status, turn.why));
    co_return co_await Finish(turn);
  }

  /// Reports the finished request. Returns whether another request may follow.
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
                       .language = turn.note.language,
                       .outcome = OutcomeOf(turn),
                       .status = turn.status,
                       .bytes_in = turn.bytes_in,
                       .bytes_out = turn.bytes_out,
                       .time = steady_clock::now() - turn.began,
                       .log_level = LevelOf(turn)});
  }

  /// Reads on before closing: a close while the client sends would reset the connection and lose
  /// the answer.
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
  /// Never expires; it is cancelled to wake the coroutine. The strand guards all members but
  /// idle_since_.
  Timer news_;
  asio::cancellation_signal stop_watching_;
  bool watching_ = false;
  bool gone_ = false;
  bool aborted_ = false;
  std::atomic<steady_clock::time_point> idle_since_ = steady_clock::time_point::max();
  const Arrival arrival_;
  const Shared& shared_;
};

}  // namespace

std::shared_ptr<Connection> StartConnection(Socket socket, Arrival arrival, const Shared& shared,
                                            std::function<void()> ended) {
  auto connection =
      std::make_shared<BeastConnection>(std::move(socket), std::move(arrival), shared);
  connection->Start(std::move(ended));
  return connection;
}

}  // namespace polybox::http

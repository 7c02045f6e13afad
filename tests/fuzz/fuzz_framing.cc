// Pipelined requests: the server and a reader of its own (framing_oracle.h) must agree where each
// request ends, and no byte of a body may be served as a request. The first byte of the input says
// where the bytes are cut in two, for short reads.
#include "fuzz/answers.h"
#include "fuzz/framing_oracle.h"
#include "fuzz/wire.h"
#include "http/head.h"

namespace polybox::fuzz {
namespace {

namespace asio = boost::asio;
using End = ParsedStream::End;

struct Seen {
  Asked asked;
  std::uint64_t body_size = 0;
};

/// Every path answers these methods with its body; all others are a 405.
http::Door EchoDoor() {
  http::Door door{.name = "echo", .routes = {}, .refuse = nullptr, .fault_prefixes = {}};
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "OPTIONS"}) {
    door.routes.push_back({method, "/*", [](const std::shared_ptr<http::Exchange>& exchange) {
                             exchange->Respond({.status = 200,
                                                .content_type = "text/plain",
                                                .body = exchange->request().body,
                                                .headers = {}});
                           }});
  }
  return door;
}

http::ServerOptions Options(std::vector<Seen>& seen) {
  http::ServerOptions options;
  options.doors = {EchoDoor()};
  // An input is shorter than each of these: nothing is refused for its size.
  options.limits.fields = 10'000;
  options.observe = [&seen](const http::Served& served) {
    seen.push_back(
        {{std::string(served.method), std::string(served.path), served.status}, served.bytes_in});
  };
  return options;
}

bool IsRefusalOfTheServer(int status) {
  return status == 400 || status == 417 || status == 431 || status == 505;
}

/// What a head may break beside its framing: the oracle knows nothing of it.
bool MayBeRefused(const ParsedRequest& request) {
  return !http::DecodePath(request.target);
}

/// Refused before the body is read: the connection may end without a look at it.
bool MayLeaveBody(int status) {
  return status == 404 || status == 405 || status == 413;
}

void Compare(const ParsedStream& stream, const std::vector<Seen>& seen, std::string_view text) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Asked& asked = seen[i].asked;
    const bool is_last = i + 1 == seen.size();
    const bool is_refused = IsRefusalOfTheServer(asked.status);
    const bool leaves_body = MayLeaveBody(asked.status) && is_last;
    if (i >= stream.requests.size()) {
      Check(is_refused || leaves_body, "only what is a request is served", text);
      Check(stream.end == End::kBad || stream.end == End::kBody, "what is refused breaks a rule",
            text);
    }
    if (is_refused) {
      Check(is_last, "nothing is served behind a refusal", text);
      Check(i >= stream.requests.size() || asked.status == 417 || MayBeRefused(stream.requests[i]),
            "what is well-formed is served", text);
      return;
    }
    if (i >= stream.requests.size()) return;
    const ParsedRequest& wanted = stream.requests[i];
    Check(asked.method == wanted.method && asked.path == *http::DecodePath(wanted.target),
          "the server sees the request that is there", text);
    Check(seen[i].body_size == wanted.body.size() || leaves_body,
          "the server sees the whole body and no more", text);
  }
  if (!seen.empty() && MayLeaveBody(seen.back().asked.status)) return;
  Check(seen.size() == stream.requests.size(), "every request is served", text);
  Check(stream.end != End::kBad, "a bad head is refused", text);
}

void Run(std::string_view text) {
  if (text.empty()) return;
  const std::size_t cut = (text.size() - 1) * static_cast<unsigned char>(text[0]) / 255;
  text.remove_prefix(1);
  std::vector<Seen> seen;
  static const log::Logger kLog = log::Logger::ToStderr({.level = log::Level::kError});
  const http::Shared shared(Options(seen), kLog);
  asio::io_context io;
  Wire wire(io);
  std::string received;
  bool ended = false;
  const auto connection = http::StartConnection(wire.TakeServer(), {.client = "fuzz"}, shared,
                                                [&ended] { ended = true; });
  wire.Send(text.substr(0, cut));
  Work(io, wire, received, ended);
  wire.Send(text.substr(cut));
  Work(io, wire, received, ended);
  wire.EndSending();
  Work(io, wire, received, ended);
  Check(ended, "the end of the client is the end of its connection");
  Compare(ParseStream(text), seen, text);
  Answers answers(received);
  for (const Seen& each : seen) answers.Take(each.asked);
  Check(answers.empty(), "there is one answer to each request", received);
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  polybox::fuzz::Run(polybox::fuzz::ToText(data, size));
  return 0;
}

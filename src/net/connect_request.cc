#include "net/connect_request.h"

#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace polybox::net {

std::variant<HostPort, ConnectProblem> ReadConnectRequest(std::string_view head) {
  namespace http = boost::beast::http;
  http::request_parser<http::empty_body> parser;
  // The caller limits the size of the head.
  parser.header_limit(static_cast<std::uint32_t>(head.size()));
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  // Only the head matters: a CONNECT request has no body, whatever its fields say.
  if (!parser.is_header_done()) return ConnectProblem::kMalformed;
  if (parser.get().method() != http::verb::connect) return ConnectProblem::kNotConnect;
  const std::optional<HostPort> target = ParseHostPort(std::string_view(parser.get().target()));
  if (!target) return ConnectProblem::kMalformed;
  return *target;
}

}  // namespace polybox::net

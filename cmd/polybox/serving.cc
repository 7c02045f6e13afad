#include "serving.h"

#include "http/serve.h"

namespace polybox::cmd {
namespace {

Result<http::Ended> Serve(Serving serving, const Context& context) {
  const config::Settings& settings = context.config.settings;
  http::ServerOptions server;
  server.doors = std::move(serving.doors);
  server.limits.connections = static_cast<std::size_t>(settings.max_connections);
  server.limits.bodies = settings.max_body_memory.count();
  server.timeouts.head = settings.header_timeout;
  server.timeouts.request = settings.request_timeout;
  server.timeouts.idle = settings.idle_timeout;
  if (!settings.token_file.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(server.tokens, http::Tokens::Load(settings.token_file));
  }
  http::BannerFacts banner = std::move(serving.banner);
  banner.token_file = settings.token_file;
  const http::Places places = {.listen = config::ListenAddress(context.config),
                               .runtime_port = settings.runtime_port,
                               .unix_socket = settings.unix_socket,
                               .insecure = settings.insecure};
  POLYBOX_ASSIGN_OR_RETURN(banner.open_to_all, http::IsOpenToAll(places, server.tokens));
  return http::Serve({.server = std::move(server),
                      .version = banner.version,
                      .places = places,
                      .executor = serving.executor,
                      .metrics = serving.metrics,
                      .readiness = serving.readiness,
                      .drain_time = settings.drain_timeout,
                      .signals = serving.signals,
                      .started =
                          [&](const std::vector<std::string>& addresses) {
                            // A log has the addresses anyway; programs that read ours expect no
                            // banner in it.
                            if (!context.err.is_terminal()) return;
                            banner.addresses = addresses;
                            context.err.Print(http::Banner(banner));
                          }},
                     context.log);
}

}  // namespace

int ServeUntilSignalled(Serving serving, const Context& context) {
  const Result<http::Ended> ended = Serve(std::move(serving), context);
  if (ended.ok()) return *ended == http::Ended::kInterrupted ? 130 : kSuccess;
  context.err.PrintLine("polybox: " + ended.error().message());
  if (!ended.error().fix().empty()) context.err.PrintLine("fix: " + ended.error().fix());
  return ended.error().kind() == ErrorKind::kInvalid ? kUsage : kFailure;
}

}  // namespace polybox::cmd

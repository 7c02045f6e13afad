#include "serving.h"

#include <sys/stat.h>

#include "complaint.h"
#include "http/serve.h"

namespace polybox::cmd {
namespace {

/// Warns when every user can read the token file. This is common for mounted secrets of a
/// container, where there is no other user; elsewhere it is a mistake.
void WarnOfOpenFile(const std::string& file, const log::Logger& log) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return;
  log.Warn("every user of this machine can read the tokens",
           {{"file", file}, {"fix", "chmod o= " + file}});
}

Result<http::ServeEnd> Serve(Serving serving, const Context& context) {
  const config::Settings& settings = context.config.settings;
  http::ServerOptions server;
  server.doors = std::move(serving.doors);
  server.limits.connections = static_cast<std::size_t>(settings.max_connections);
  server.limits.bodies = settings.max_body_memory.count();
  server.timeouts.head = settings.header_timeout;
  server.timeouts.request = settings.request_timeout;
  server.timeouts.idle = settings.idle_timeout;
  POLYBOX_ASSIGN_OR_RETURN(server.sites,
                           http::Sites::Make(settings.allowed_hosts, settings.allowed_origins));
  if (!settings.token_file.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(server.tokens, http::Tokens::Load(settings.token_file));
    WarnOfOpenFile(settings.token_file, context.log);
  }
  http::BannerFacts banner = std::move(serving.banner);
  banner.token_file = settings.token_file;
  const http::ListenAddresses listen = {.tcp = config::ListenAddress(context.config),
                                        .runtime_port = settings.runtime_port,
                                        .unix_socket = settings.unix_socket,
                                        .insecure = settings.insecure};
  POLYBOX_ASSIGN_OR_RETURN(banner.open_to_all, http::IsOpenToAll(listen, server.tokens));
  return http::Serve({.server = std::move(server),
                      .listen = listen,
                      .executor = serving.executor,
                      .metrics = serving.metrics,
                      .readiness = serving.readiness,
                      .drain_time = settings.drain_timeout,
                      .signals = serving.signals,
                      .started =
                          [&](const std::vector<std::string>& addresses) {
                            // The log has the addresses in any case, and programs that read
                            // standard error expect only log lines there.
                            if (!context.err.is_terminal()) return;
                            banner.addresses = addresses;
                            context.err.Print(http::Banner(banner));
                          }},
                     context.log);
}

}  // namespace

int ServeUntilSignalled(Serving serving, const Context& context) {
  const Result<http::ServeEnd> ended = Serve(std::move(serving), context);
  if (ended.ok()) return *ended == http::ServeEnd::kInterrupted ? 130 : kSuccess;
  return Complain({.out = context.out, .err = context.err}, ended.error());
}

}  // namespace polybox::cmd

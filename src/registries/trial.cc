#include "registries/trial.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/printable.h"
#include "jail/slot.h"
#include "languages/placeholders.h"
#include "launch/host_programs.h"
#include "launch/launch.h"
#include "launch/streams.h"
#include "net/egress_proxy.h"
#include "sys/command.h"

namespace polybox::registries {
namespace {

// A client downloads some kilobytes. Maven and npm need ten seconds on a busy machine.
constexpr Duration kTrialTime = std::chrono::seconds(60);

// The last part of what the client said, for the message about its failure.
constexpr std::size_t kKeptOutput = 4096;

/// Shows the clients' programs. Returns the directories in which the jail finds them.
std::string ShowClients(const Client& client, const std::string& path, jail::Spec& spec) {
  const languages::RegistryClients& settings = client.settings();
  const auto& packages = client.language.packages;
  std::string directories;
  for (const std::string& root : client.toolchain.roots) {
    jail::ShowPath(spec, root);
    directories += root + "/bin:";
  }
  for (const std::string& name : settings.binaries) {
    const std::string program = launch::FindProgram(name, client.toolchain, path);
    if (program.empty()) continue;
    const std::string marker = settings.program_marker.empty() && packages
                                   ? packages->program_marker
                                   : settings.program_marker;
    launch::ShowProgram(spec, program, marker);
    directories += std::filesystem::path(program).parent_path().string() + ":";
  }
  return directories + "/usr/bin:/bin";
}

jail::Spec SpecFor(const Client& client, jail::Grade grade) {
  const languages::RegistryClients& settings = client.settings();
  jail::Spec spec = jail::HostSpec();
  spec.grade = grade;
  spec.egress = true;
  spec.scratch = settings.limits.disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(settings.limits.inodes);
  for (const std::string& shown : settings.read_only) jail::ShowPath(spec, shown);
  for (const std::string& shown : client.language.run.read_only) jail::ShowPath(spec, shown);
  return spec;
}

jail::RunRequest RequestFor(const Client& client, const languages::Env& env) {
  const languages::Placeholders values = {{"binary", client.toolchain.binary},
                                          {"executable", client.toolchain.executable},
                                          {"root", client.toolchain.roots[0]},
                                          {"work", jail::kWorkDirectory}};
  jail::RunRequest request;
  request.argv = languages::Expand(client.settings().trial, values);
  if (request.argv[0].find('/') == std::string::npos) {
    // In the jail, the host's programs have the same paths as on the host.
    request.argv[0] = sys::FindOnPath(request.argv[0], env.at("PATH"));
  }
  for (const auto& [name, value] : env) request.env.push_back(fmt::format("{}={}", name, value));
  request.limits = client.settings().limits;
  request.limits.wall_time = kTrialTime;
  return request;
}

Result<std::unique_ptr<net::EgressProxy>> Serve(jail::Slot& slot, const ClientAnswer& answer,
                                                const TrialOptions& options) {
  std::vector<std::string> entries = {net::kPublicHosts};
  for (const net::HostPort& host : answer.hosts) {
    entries.push_back(net::JoinHostPort(host.host, host.port));
  }
  net::EgressProxy::Options serving;
  POLYBOX_ASSIGN_OR_RETURN(serving.policy, net::EgressPolicy::Make(entries, "workspace-egress"));
  serving.upstream = options.upstream;
  serving.resolver = options.resolver;
  return net::EgressProxy::Start(slot.TakeEgress(), std::move(serving), options.ledger);
}

std::vector<jail::InputFile> FilesOf(const ClientAnswer& answer) {
  std::vector<jail::InputFile> files;
  files.reserve(answer.files.size());
  for (const auto& [path, content] : answer.files) files.push_back({path, content, 0644});
  return files;
}

/// Returns how the trial failed, with the last line of the client; success if it did not.
Status Judge(const jail::Outcome& outcome, std::string_view said) {
  if (outcome.end == jail::End::kExited && outcome.exit_code == 0) return {};
  while (said.ends_with('\n')) said.remove_suffix(1);
  const std::string last = Printable(said.substr(said.rfind('\n') + 1), 200);
  const std::string how = outcome.end == jail::End::kTimedOut ? "took too long"
                          : outcome.end == jail::End::kExited
                              ? fmt::format("exit code {}", outcome.exit_code)
                              : "the client did not end by itself";
  return Error(ErrorKind::kUnavailable, last.empty() ? how : fmt::format("{}: {}", how, last));
}

}  // namespace

Result<std::vector<net::HostPort>> TryDownload(const Client& client, const ClientAnswer& answer,
                                               const TrialOptions& options,
                                               const std::stop_token& stop) {
  jail::Spec spec = SpecFor(client, options.home->grade());
  const languages::RegistryClients& settings = client.settings();
  languages::Env env =
      launch::PassVariables({settings.pass_env, settings.pass_files, options.variable}, spec);
  env["PATH"] = ShowClients(client, options.path, spec);
  env["HOME"] = jail::kWorkDirectory;
  for (const auto& [name, value] : launch::EgressEnvironment()) env[name] = value;
  POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot, options.home->MakeSlot(spec, options.number));
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<net::EgressProxy> proxy,
                           Serve(slot, answer, options));
  POLYBOX_RETURN_IF_ERROR(slot.PutFiles(FilesOf(answer)));
  std::string said;
  const auto listen = [&](std::string_view text) {
    said += text;
    if (said.size() > kKeptOutput) said.erase(0, said.size() - kKeptOutput);
  };
  launch::Streams streams;
  streams.out = listen;
  streams.err = listen;
  streams.limit = settings.limits.output;
  streams.cancel = stop;
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome outcome,
                           launch::RunWithStreams(slot, RequestFor(client, env), streams));
  POLYBOX_RETURN_IF_ERROR(Judge(outcome, said));
  return proxy->opened();
}

}  // namespace polybox::registries

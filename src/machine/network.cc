#include "machine/network.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "launch/host_programs.h"
#include "launch/launch.h"
#include "machine/find_identity.h"
#include "registries/trial.h"

namespace polybox::machine {
namespace {

// Each connection uses a thread of the server. Package managers open up to 50 at once; more wait.
constexpr int kConnections = 64;

// A lease lives for days, and each installation moves some hundred megabytes.
constexpr Bytes kTraffic = Bytes::MiB(256 * 1024);

// The configuration files have some kilobytes.
constexpr Duration kPutTime = std::chrono::seconds(10);

// Writes the files that its arguments name in pairs of path and content. A copy of each tells later
// whether a command has changed the file since.
constexpr const char* kPutFiles = R"sh(
set -eu
while [ $# -gt 0 ]; do
  file=$HOME/$1 copy=$HOME/.cache/polybox/$1
  if [ ! -e "$file" ] || cmp -s "$file" "$copy"; then
    mkdir -p "$(dirname "$file")" "$(dirname "$copy")"
    printf %s "$2" >"$file"
    printf %s "$2" >"$copy"
  fi
  shift 2
done
)sh";

Violation ViolationOf(const net::Refused& refused, const std::string& setting) {
  const std::string host = net::Bracketed(refused.host.Reveal());
  const std::string subject = fmt::format("{}:{}", host, refused.port);
  const std::string entry = refused.port == 443 ? host : subject;
  const std::string what =
      fmt::format("{} may not be reached: {} of the setting {}", subject, refused.why, setting);
  const std::string fix =
      refused.address.empty()
          ? fmt::format("restart polybox with --{} {}", setting, entry)
          : fmt::format("restart polybox with --{} and the host's address, which the log has",
                        setting);
  return {.kind = Violation::Kind::kConnection,
          .source = Violation::Source::kObserved,
          .subject = subject,
          .what = what,
          .fix = fix};
}

/// Returns whether a tree of the spec shows the host's `path` at the same path.
bool IsShown(const jail::Spec& spec, const std::string& path) {
  return std::ranges::any_of(spec.trees, [&](const jail::Tree& tree) {
    return tree.source == tree.target &&
           (path == tree.target || path.starts_with(tree.target + "/"));
  });
}

/// Adds the trees of `more` that the spec does not show yet.
void AddTrees(const jail::Spec& more, jail::Spec& spec) {
  for (const jail::Tree& tree : more.trees) {
    if (!IsShown(spec, tree.target)) spec.trees.push_back(tree);
  }
}

}  // namespace

Network::Network(NetworkOptions options, const log::Logger& log)
    : options_(std::move(options)),
      log_(log),
      resolver_(options_.lookup ? std::make_shared<net::NameResolver>(options_.lookup)
                                : std::make_shared<net::NameResolver>()),
      learned_(options_.learned_file) {}

Result<std::unique_ptr<Network>> Network::Make(NetworkOptions options, const log::Logger& log) {
  std::unique_ptr<Network> network(new Network(std::move(options), log));
  std::vector<std::string> hosts = network->options_.hosts;
  network->opens_registries_ = std::erase(hosts, kRegistries) > 0;
  POLYBOX_ASSIGN_OR_RETURN(network->policy_,
                           net::EgressPolicy::Make(hosts, network->options_.setting,
                                                   net::EgressPolicy::Inside::kNamedThemselves));
  POLYBOX_ASSIGN_OR_RETURN(network->upstream_,
                           net::Upstream::FromEnvironment(network->options_.variable));
  return network;
}

const std::vector<registries::Client>& Network::Clients() {
  std::call_once(found_, [this] { clients_ = options_.clients(); });
  return clients_;
}

MachineNetwork::MachineNetwork(Network& network, const Options& options)
    : network_(network), options_(options) {}

void MachineNetwork::AskClients() {
  const workspace::Workspace& workspace = *options_.workspace;
  const registries::TrialOptions trial = {.home = options_.home,
                                          .number = options_.trial_slot,
                                          .upstream = network_.upstream_,
                                          .resolver = network_.resolver_,
                                          .ledger = network_.options_.ledger,
                                          .path = network_.options_.path,
                                          .variable = network_.options_.variable};
  auto asked = std::make_shared<registries::Registries>(
      registries::Registries::Options{
          .clients = network_.Clients(),
          .ask = {.user = registries::UserFor(workspace.owner().uid, workspace.owner().gid,
                                              workspace.path()),
                  .path = network_.options_.path,
                  .variable = network_.options_.variable},
          .trial =
              [trial](const registries::Client& client, const registries::ClientAnswer& answer,
                      const std::stop_token& stop) {
                return registries::TryDownload(client, answer, trial, stop);
              },
          .learned = &network_.learned_,
          .setting = network_.options_.setting},
      network_.log_);
  asked->Ask();
  const std::lock_guard lock(mutex_);
  registries_ = std::move(asked);
}

void MachineNetwork::ShowClients(jail::Spec& spec, Identity identity) {
  jail::Spec more;
  jail::Spec named;
  passed_.clear();
  for (const registries::Client& client : network_.Clients()) {
    const languages::RegistryClients& settings = client.settings();
    passed_.merge(launch::PassVariables(
        {settings.pass_env, settings.pass_files, network_.options_.variable}, named));
    for (const std::string& path : settings.read_only) jail::ShowPath(more, path);
  }
  for (jail::Tree& tree : named.trees) {
    // A file with a password is readable for its owner alone. Directories keep their owners: one
    // with certificates may also hold private keys that no client needs.
    if (!tree.is_file) continue;
    tree.owner = OwnershipOf(tree.source, identity, options_.workspace->owner()).mapped;
  }
  AddTrees(named, spec);
  AddTrees(more, spec);
}

void MachineNetwork::Show(jail::Spec& spec, Identity identity) {
  const bool has_hosts = !network_.options_.hosts.empty();
  if (!jail::HasNamespaces(spec.grade)) {
    const std::lock_guard lock(mutex_);
    notes_.clear();
    if (has_hosts) {
      notes_.push_back(fmt::format(
          "{} has no effect: the isolation grade {} has no network namespaces, so commands have "
          "no network",
          network_.options_.setting, jail::GradeName(spec.grade)));
    }
    return;
  }
  spec.egress = true;
  if (!has_hosts) return;
  if (!registries_) AskClients();
  ShowClients(spec, identity);
}

void MachineNetwork::AddVariables(std::map<std::string, std::string>& env) const {
  if (!proxy_) return;
  for (const auto& [name, value] : passed_) env[name] = value;
  for (const auto& [name, value] : launch::EgressEnvironment()) env[name] = value;
}

Status MachineNetwork::PutFiles(jail::Lease& lease, const std::string& home) const {
  const std::map<std::string, std::string> files = registries_->Files();
  if (files.empty()) return {};
  jail::ProcessRequest request;
  request.argv = {"/bin/sh", "-c", kPutFiles, "sh"};
  for (const auto& [path, content] : files) {
    request.argv.push_back(path);
    request.argv.push_back(content);
  }
  request.env = {"PATH=/usr/bin:/bin", "HOME=" + home};
  request.directory = "/";
  request.limits.wall_time = kPutTime;
  POLYBOX_ASSIGN_OR_RETURN(const jail::Process process, lease.Start(request));
  const std::optional<jail::Outcome> outcome = process.Wait(kPutTime);
  if (outcome && outcome->end == jail::End::kExited && outcome->exit_code == 0) return {};
  return Error(ErrorKind::kUnavailable, "the files cannot be written");
}

Status MachineNetwork::Serve(jail::Lease& lease, const std::string& home) {
  UniqueFd listener = lease.TakeEgress();
  std::unique_ptr<net::EgressProxy> proxy;
  if (listener.valid()) {
    net::EgressProxy::Options options;
    options.policy = network_.policy_;
    options.upstream = network_.upstream_;
    options.limits.connections = kConnections;
    options.limits.traffic = kTraffic;
    options.resolver = network_.resolver_;
    if (network_.opens_registries_) options.later = registries_;
    POLYBOX_ASSIGN_OR_RETURN(proxy, net::EgressProxy::Start(std::move(listener), std::move(options),
                                                            network_.options_.ledger));
  }
  {
    const std::lock_guard lock(mutex_);
    proxy_.swap(proxy);
  }
  if (!proxy_ || !registries_) return {};
  const Status put = PutFiles(lease, home);
  const std::lock_guard lock(mutex_);
  notes_.clear();
  if (!put.ok()) {
    notes_.push_back(fmt::format("clients of package registries lack their configuration: {}",
                                 put.error().message()));
  }
  return {};
}

void MachineNetwork::Stop() {
  std::unique_ptr<net::EgressProxy> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(proxy_);
}

std::vector<Violation> MachineNetwork::TakeViolations() {
  std::vector<Violation> violations;
  const std::lock_guard lock(mutex_);
  if (!proxy_) return violations;
  for (const net::Refused& refused : proxy_->TakeRefused()) {
    violations.push_back(ViolationOf(refused, network_.options_.setting));
  }
  return violations;
}

std::vector<std::string> MachineNetwork::Notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes = notes_;
  if (registries_ && network_.opens_registries_) {
    for (std::string& note : registries_->Notes()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace polybox::machine

#include "packages/jail_installer.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "jail/slot.h"
#include "languages/placeholders.h"
#include "launch/host_programs.h"
#include "launch/streams.h"
#include "sys/command.h"
#include "sys/copy_tree.h"

namespace polybox::packages {
namespace {

using languages::Argv;
using languages::Placeholders;

constexpr const char* kSystemPath = "/usr/bin:/bin";

// The length of an installer's output that is kept. It is sufficient for the error, which comes
// last.
constexpr std::size_t kKeptOutput = 64 << 10;

/// Keeps the last part of a text to which parts are added.
class Tail {
 public:
  void Append(std::string_view text) {
    text_ += text;
    if (text_.size() <= 2 * kKeptOutput) return;
    text_.erase(0, text_.size() - kKeptOutput);
    cut_ = true;
  }
  std::string text() const { return cut_ ? "[...]" + text_ : text_; }

 private:
  std::string text_;
  bool cut_ = false;
};

const Argv& InstallOf(const launch::Installation& installation) {
  const languages::RequestedPackages* requests = launch::RequestsOf(installation);
  return requests != nullptr ? requests->install : installation.language.packages->install;
}

/// Describes a signal in the form of Go's os/exec: "signal: killed".
std::string SignalText(int signal) {
  std::string text = ::strsignal(signal == 0 ? SIGKILL : signal);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return "signal: " + text;
}

InstallOutcome FromRun(const jail::Outcome& outcome, std::string output, Bytes memory) {
  InstallOutcome result;
  result.output = std::move(output);
  switch (outcome.end) {
    case jail::End::kExited:
      if (outcome.exit_code != 0) result.failure = fmt::format("exit status {}", outcome.exit_code);
      break;
    case jail::End::kSetupFailed:
      result.failure = outcome.setup_failure;
      break;
    case jail::End::kTimedOut:
    case jail::End::kCancelled:
      result.unfinished = true;
      result.timed_out = outcome.end == jail::End::kTimedOut;
      result.failure = SignalText(SIGKILL);
      break;
    default:
      result.failure = SignalText(outcome.signal);
  }
  if (outcome.oom_kills > 0) {
    result.output +=
        fmt::format("\npolybox: the installer needs more than {}", FormatBytes(memory));
  }
  return result;
}

}  // namespace

struct JailInstaller::Prepared {
  jail::Spec spec;
  jail::RunRequest request;
  Bytes output;
};

/// A slot number, which is returned when this object is destroyed. It is not valid() if no number
/// became free in time.
class JailInstaller::Number {
 public:
  Number(JailInstaller& owner, const InstallJob& job) : owner_(owner) {
    std::unique_lock lock(owner.mutex_);
    const bool got =
        owner.freed_.wait_for(lock, job.cancel, job.time, [&] { return !owner.free_.empty(); });
    if (got) taken_ = owner.free_.extract(owner.free_.begin());
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() {
    if (!taken_) return;
    const std::lock_guard lock(owner_.mutex_);
    owner_.free_.insert(std::move(taken_));
    owner_.freed_.notify_one();
  }

  bool valid() const { return !taken_.empty(); }
  unsigned value() const { return taken_.value(); }

 private:
  JailInstaller& owner_;
  std::set<unsigned>::node_type taken_;
};

JailInstaller::JailInstaller(const launch::JailHome& home, JailInstallerOptions options,
                             std::shared_ptr<net::EgressLedger> ledger)
    : home_(home), options_(std::move(options)), ledger_(std::move(ledger)) {
  for (unsigned i = 0; i < options_.at_once; ++i) free_.insert(options_.first_slot + i);
}

std::string JailInstaller::Identity(const launch::Installation& installation) const {
  const languages::Packages& packages = *installation.language.packages;
  const auto index = options_.indexes.find(packages.installer);
  std::string identity =
      fmt::format("{}\n{}\n{}", index == options_.indexes.end() ? "" : index->second,
                  options_.scripts ? "scripts" : "", fmt::join(InstallOf(installation), " "));
  // These variables can name an index.
  for (const std::string& name : packages.pass_env) {
    identity += fmt::format("\n{}={}", name, options_.variable(name));
  }
  return identity;
}

bool HasInstaller(const launch::Installation& installation, const std::string& path) {
  return std::ranges::all_of(
      installation.language.packages->binaries, [&](const std::string& name) {
        return !launch::FindProgram(name, installation.toolchain, path).empty();
      });
}

Result<std::map<std::string, std::string>> JailInstaller::ShowPrograms(const InstallJob& job,
                                                                       jail::Spec& spec) const {
  const languages::Packages& packages = *job.installation.language.packages;
  std::map<std::string, std::string> programs;
  for (const std::string& name : packages.binaries) {
    const std::string program =
        launch::FindProgram(name, job.installation.toolchain, options_.path);
    if (program.empty()) {
      return Error(ErrorKind::kNotFound,
                   fmt::format("exec: \"{}\": executable file not found in $PATH", name));
    }
    launch::ShowProgram(spec, program, packages.program_marker);
    programs[name] = program;
  }
  return programs;
}

Argv JailInstaller::Command(const InstallJob& job, const Placeholders& values) const {
  const languages::Packages& packages = *job.installation.language.packages;
  bool needs_index = !values.at("index").empty();
  Argv argv;
  for (const std::string& word : InstallOf(job.installation)) {
    if (options_.scripts && std::ranges::count(packages.script_guard, word) != 0) continue;
    if (needs_index && (word == "--" || word == "{requirements}")) {
      const Argv arguments = languages::Expand(packages.index_arguments, values);
      argv.insert(argv.end(), arguments.begin(), arguments.end());
      needs_index = false;
    }
    if (word == "{requirements}") {
      argv.insert(argv.end(), job.requirements.begin(), job.requirements.end());
    } else {
      argv.push_back(languages::Expand(word, values));
    }
  }
  return argv;
}

languages::Env JailInstaller::Environment(const languages::Packages& packages,
                                          const Placeholders& values, jail::Spec& spec) const {
  languages::Env env =
      launch::PassVariables({packages.pass_env, packages.pass_files, options_.variable}, spec);
  // The language file and the jail have priority over the server's environment.
  for (const auto& [name, value] : packages.install_env) {
    env[name] = languages::Expand(value, values);
  }
  env.try_emplace("PATH", kSystemPath);
  env["HOME"] = jail::kWorkDirectory;
  for (const auto& [name, value] : launch::EgressEnvironment()) env[name] = value;
  return env;
}

Result<JailInstaller::Prepared> JailInstaller::Prepare(const InstallJob& job) const {
  const languages::Toolchain& toolchain = job.installation.toolchain;
  const languages::Packages& packages = *job.installation.language.packages;
  Prepared prepared;
  jail::Spec& spec = prepared.spec;
  spec = jail::HostSpec();
  spec.grade = home_.grade();
  spec.egress = true;
  spec.scratch = packages.limits.disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(packages.limits.inodes);
  for (const std::string& root : toolchain.roots) jail::ShowPath(spec, root);
  POLYBOX_ASSIGN_OR_RETURN(const auto programs, ShowPrograms(job, spec));
  const auto index = options_.indexes.find(packages.installer);
  const Placeholders values = {
      {"executable", toolchain.executable},
      {"root", toolchain.roots[0]},
      {"target", fmt::format("{}/{}", jail::kWorkDirectory, launch::kTargetName)},
      {"work", jail::kWorkDirectory},
      {"index", index == options_.indexes.end() ? "" : index->second}};
  jail::RunRequest& request = prepared.request;
  request.argv = Command(job, values);
  const auto known = programs.find(request.argv[0]);
  if (known != programs.end()) {
    request.argv[0] = known->second;
  } else if (request.argv[0].find('/') == std::string::npos) {
    // In the jail, the host's programs have the same paths as on the host.
    request.argv[0] = sys::FindOnPath(request.argv[0], kSystemPath);
  }
  for (const auto& [name, value] : Environment(packages, values, spec)) {
    request.env.push_back(fmt::format("{}={}", name, value));
  }
  request.limits = packages.limits;
  prepared.output = packages.limits.output;
  return prepared;
}

Result<InstallOutcome> JailInstaller::Install(const InstallJob& job, const std::string& target) {
  if (!jail::HasNamespaces(home_.grade())) {
    return InstallOutcome{
        .failure = fmt::format("polybox: the isolation grade {} has no network for installers",
                               jail::GradeName(home_.grade())),
        .output = ""};
  }
  Result<Prepared> prepared = Prepare(job);
  if (!prepared.ok() && prepared.error().kind() == ErrorKind::kNotFound) {
    return InstallOutcome{.failure = prepared.error().message(), .output = ""};
  }
  if (!prepared.ok()) return std::move(prepared).error();
  const auto begin = std::chrono::steady_clock::now();
  const Number number(*this, job);
  const Duration left = job.time - (std::chrono::steady_clock::now() - begin);
  if (!number.valid() || left.count() <= 0) {
    return InstallOutcome{.failure = SignalText(SIGKILL), .output = "", .unfinished = true};
  }
  prepared->request.limits.wall_time = left;
  return RunIn(*prepared, job, target, number.value());
}

Result<InstallOutcome> JailInstaller::RunIn(const Prepared& prepared, const InstallJob& job,
                                            const std::string& target, unsigned number) {
  POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot, home_.MakeSlot(prepared.spec, number));
  POLYBOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<net::EgressProxy> proxy,
      net::EgressProxy::Start(
          slot.TakeEgress(),
          {.policy = options_.policy, .upstream = options_.upstream, .limits = options_.egress},
          ledger_));
  Tail said;
  const auto listen = [&](std::string_view text) { said.Append(text); };
  launch::Streams streams;
  streams.out = listen;
  streams.err = listen;
  streams.limit = prepared.output;
  streams.cancel = job.cancel;
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome ended,
                           launch::RunWithStreams(slot, prepared.request, streams));
  InstallOutcome outcome = FromRun(ended, said.text(), prepared.request.limits.memory);
  if (!outcome.failure.empty()) {
    for (const net::Refused& refused : proxy->refused()) {
      // A connection that the proxy refused is often the cause of the failure.
      outcome.output += "\npolybox: " + net::Explain(refused, options_.policy.setting());
    }
    return outcome;
  }
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd made, slot.OpenDirectory(launch::kTargetName));
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd copy, OpenFile(target, O_RDONLY | O_DIRECTORY));
  const languages::Limits& limits = job.installation.language.packages->limits;
  const Result<sys::Copied> copied = sys::CopyGuestTree(
      made.get(), copy.get(),
      {.bytes = limits.disk, .entries = static_cast<std::size_t>(limits.inodes)});
  if (copied.ok()) return outcome;
  // An invalid tree is the fault of the packages. Any other error is a failure of polybox.
  if (copied.error().kind() != ErrorKind::kInvalid) return copied.error();
  outcome.failure = "what the installer made cannot be used: " + copied.error().message();
  return outcome;
}

}  // namespace polybox::packages

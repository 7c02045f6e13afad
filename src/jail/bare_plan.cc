#include "jail/bare_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "jail/init/landlock.h"

namespace polybox::jail {
namespace {

using init::PathRule;

constexpr std::uint64_t kShown = init::kReadFile | init::kReadDirectory | init::kExecute;
constexpr std::uint64_t kDevice = init::kReadFile | init::kWriteFile;
constexpr std::uint64_t kScratch = init::kReadFile | init::kReadDirectory | init::kWriteFile |
                                   init::kTruncate | init::kMakeFile | init::kMakeDirectory |
                                   init::kMakeLink | init::kMakeFifo | init::kRemoveFile |
                                   init::kRemoveDirectory | init::kRefer;

// Of /proc only files about the machine, which runtimes read to size themselves. A rule cannot name
// "the guest's own directory", and a rule on /proc would show every process of the host.
constexpr const char* kMachineFacts[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
                                         "/proc/loadavg", "/proc/uptime",  "/proc/filesystems",
                                         "/proc/version"};

// OpenSSL, and with it Node, accepts that this file is missing, but fails when it may not read it.
constexpr const char* kConfiguration[] = {"/etc/ssl/openssl.cnf"};

constexpr std::pair<std::uint64_t, const char*> kNames[] = {
    {init::kReadFile, "read"},
    {init::kReadDirectory, "list"},
    {init::kExecute, "execute"},
    {init::kWriteFile, "write"},
    {init::kTruncate, "truncate"},
    {init::kMakeFile, "make-file"},
    {init::kMakeDirectory, "make-directory"},
    {init::kMakeLink, "make-link"},
    {init::kMakeFifo, "make-fifo"},
    {init::kMakeSocket, "make-socket"},
    {init::kMakeCharacterDevice, "make-character-device"},
    {init::kMakeBlockDevice, "make-block-device"},
    {init::kRemoveFile, "remove-file"},
    {init::kRemoveDirectory, "remove-directory"},
    {init::kRefer, "move"},
    {init::kDeviceControl, "device-control"},
};

std::vector<PathRule> Rules(const Spec& spec) {
  std::vector<PathRule> rules;
  for (const Tree& tree : spec.trees) {
    const bool device = tree.source.starts_with("/dev/");
    PathRule rule = {tree.source, device ? kDevice : kShown};
    if (tree.writable) rule.rights |= kScratch;
    // A shell opens its controlling terminal by this name.
    if (spec.for_lease && tree.target == "/dev/tty") rule.rights |= init::kDeviceControl;
    if (tree.is_file) rule.rights &= init::kOfFiles;
    if (std::ranges::count(rules, rule) == 0) rules.push_back(std::move(rule));
  }
  for (const char* file : kConfiguration) rules.push_back({file, init::kReadFile});
  for (const char* fact : kMachineFacts) rules.push_back({fact, init::kReadFile});
  // A compiled program is run from the working directory. In a lease, tools like `go test` build in
  // tmp what they execute.
  rules.push_back({"sandbox", kScratch | init::kExecute});
  rules.push_back({"tmp", spec.for_lease ? kScratch | init::kExecute : kScratch});
  return rules;
}

/// Returns whether every uid may pass through the directory.
bool IsOpen(const std::string& directory) {
  struct stat info{};
  return ::stat(directory.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) != 0;
}

}  // namespace

Plan MakeBarePlan(const Spec& spec) {
  Plan plan;
  for (const char* directory : {"sandbox", "tmp"}) {
    init::Operation operation;
    operation.kind = init::OperationKind::kDirectory;
    operation.target = directory;
    plan.operations.push_back(std::move(operation));
  }
  if (spec.grade == Grade::kLandlock) plan.rules = Rules(spec);
  return plan;
}

std::string DescribeRights(std::uint64_t rights) {
  std::vector<const char*> names;
  for (const auto& [right, name] : kNames) {
    if ((rights & right) != 0) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

bool HasClosedTrees(const std::vector<Tree>& trees) {
  return std::ranges::any_of(trees, [](const Tree& tree) {
    const std::string& path = tree.source;
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      if (!IsOpen(path.substr(0, slash))) return true;
    }
    // A writable tree belongs to the guests' uid.
    return !tree.is_file && !tree.writable && !IsOpen(path);
  });
}

}  // namespace polybox::jail

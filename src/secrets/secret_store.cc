#include "secrets/secret_store.h"

#include <algorithm>
#include <cctype>
#include <dirent.h>
#include <fcntl.h>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/printable.h"
#include "secrets/shape.h"
#include "sys/open_below.h"

namespace polybox::secrets {
namespace {

constexpr std::size_t kLongestName = 128;
/// A FIFO must not keep the call waiting.
constexpr int kForReading = O_RDONLY | O_NONBLOCK | O_NOCTTY;
/// How long a changed file may go unnoticed by the scrubber. A value that a caller gets is known to
/// the scrubber at once.
constexpr std::chrono::seconds kLookPause{1};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// A name without a slash or a dot at its start, so that it can only be an entry of the directory.
bool IsName(std::string_view name) {
  static const Characters kAllowed("A-Za-z0-9_.-");
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         kAllowed.Span(name, name.size()) == name.size();
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<std::unique_ptr<SecretStore>> SecretStore::Open(StoreOptions options) {
  const std::string path = options.directory;
  std::unique_ptr<SecretStore> store(new SecretStore(std::move(options)));
  if (path.empty()) return store;
  if (path.front() != '/') {
    return Error(ErrorKind::kInvalid, "secrets-dir must be absolute: \"" + path + "\"");
  }
  Result<UniqueFd> directory = polybox::OpenFile(path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return std::move(directory).error().In("secrets-dir");
  store->directory_ = std::move(directory).value();
  return store;
}

const EnvironmentSecret* SecretStore::InEnvironment(const std::string& name) const {
  const auto found = std::ranges::find(options_.environment, Lower(name), &EnvironmentSecret::name);
  return found == options_.environment.end() ? nullptr : &*found;
}

Result<std::string> SecretStore::Get(const std::string& name, const std::string& principal) {
  if (name.empty()) return Error(ErrorKind::kInvalid, "name is required");
  if (!IsName(name)) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("invalid secret name: {}", Printable(name, kLongestName)));
  }
  Access access = {.name = name, .principal = principal, .source = "env"};
  std::string value;
  if (const EnvironmentSecret* secret = InEnvironment(name)) {
    value = secret->value;
  } else {
    POLYBOX_ASSIGN_OR_RETURN(const std::string file, FileNameOf(name));
    POLYBOX_ASSIGN_OR_RETURN(value, GetFile(file));
    access.source = "file";
  }
  access.size = value.size();
  if (on_access_) on_access_(access);
  return value;
}

Error SecretStore::Unknown(const std::string& name) const {
  const Result<std::vector<std::string>> names = Names();
  return {ErrorKind::kNotFound,
          fmt::format("unknown secret: {} (available: {})", name,
                      names.ok() ? fmt::format("{}", fmt::join(*names, ", ")) : "")};
}

/// Returns the file with exactly this name, else the only one whose name differs in case alone.
Result<std::string> SecretStore::FileNameOf(const std::string& name) const {
  if (!directory_.valid()) return Unknown(name);
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> names, FileNames());
  if (std::ranges::count(names, name) != 0) return name;
  std::vector<std::string> similar;
  for (const std::string& each : names) {
    if (Lower(each) == Lower(name)) similar.push_back(each);
  }
  if (similar.size() != 1) return Unknown(name);
  return similar.front();
}

Result<std::string> SecretStore::GetFile(const std::string& file) {
  const std::lock_guard lock(mutex_);
  // Looked at again even if its time and size are the same as before.
  files_.erase(file);
  POLYBOX_RETURN_IF_ERROR(LookAtFile(file).In("secret " + file));
  const std::string value = files_[file].value;
  Remember(file, value);
  Publish();
  return value;
}

Result<UniqueFd> SecretStore::OpenFile(const std::string& file, int flags) const {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  // Links inside the directory are usual in Kubernetes.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(sys::OpenBelow(directory_.get(), file.c_str(), how));
  if (!fd.valid()) return Error::FromErrno("open");
  return fd;
}

Status SecretStore::LookAtFile(const std::string& file) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file, kForReading));
  struct stat state{};
  if (::fstat(fd.get(), &state) != 0) return Error::FromErrno("stat");
  if (!S_ISREG(state.st_mode)) return Error(ErrorKind::kInvalid, "not a regular file");
  const Stamp stamp = {.device = state.st_dev,
                       .inode = state.st_ino,
                       .size = state.st_size,
                       .changed_ns = state.st_ctim.tv_sec * 1'000'000'000 + state.st_ctim.tv_nsec};
  const auto known = files_.find(file);
  if (known != files_.end() && known->second.stamp == stamp) return {};
  POLYBOX_ASSIGN_OR_RETURN(std::string value, ReadAll(fd.get(), kLargest));
  while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
  files_[file] = {stamp, std::move(value)};
  return {};
}

void SecretStore::Remember(const std::string& name, const std::string& value) {
  const KnownValue known = {name, value};
  if (std::ranges::count(given_, known) != 0) return;
  if (given_.size() >= kMost) given_.erase(given_.begin());
  given_.push_back(known);
}

void SecretStore::Publish() {
  std::vector<KnownValue> all;
  for (const EnvironmentSecret& secret : options_.environment) {
    all.push_back({secret.name, secret.value});
  }
  for (const auto& [name, file] : files_) all.push_back({name, file.value});
  for (const KnownValue& given : given_) {
    if (std::ranges::count(all, given) == 0) all.push_back(given);
  }
  if (known_ == nullptr || *known_ != all) {
    known_ = std::make_shared<const std::vector<KnownValue>>(std::move(all));
  }
}

Result<std::vector<std::string>> SecretStore::FileNames() const {
  // A descriptor of its own: the position in the directory belongs to the open file.
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (directory == nullptr) return Error::FromErrno("list secrets-dir");
  std::ignore = fd.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (!IsName(name)) continue;
    const Result<UniqueFd> file = OpenFile(name, O_PATH);
    struct stat state{};
    if (!file.ok() || ::fstat(file->get(), &state) != 0 || !S_ISREG(state.st_mode)) continue;
    names.push_back(name);
  }
  std::ranges::sort(names);
  if (names.size() > kMost) names.resize(kMost);
  return names;
}

Result<std::vector<std::string>> SecretStore::Names() const {
  std::vector<std::string> names;
  for (const EnvironmentSecret& secret : options_.environment) names.push_back(secret.name);
  if (directory_.valid()) {
    POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> files, FileNames());
    for (const std::string& file : files) {
      // The variable wins, so the file cannot be read.
      if (InEnvironment(file) == nullptr) names.push_back(file);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::shared_ptr<const std::vector<KnownValue>> SecretStore::Known() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (known_ != nullptr && (!directory_.valid() || now < looked_ + kLookPause)) return known_;
  looked_ = now;
  if (directory_.valid()) {
    const Result<std::vector<std::string>> names = FileNames();
    if (names.ok()) {
      std::erase_if(files_, [&](const auto& file) {
        return !std::ranges::binary_search(*names, file.first);
      });
      for (const std::string& name : *names) {
        // What cannot be read cannot be given to a caller either.
        if (!LookAtFile(name).ok()) files_.erase(name);
      }
    }
  }
  Publish();
  return known_;
}

}  // namespace polybox::secrets

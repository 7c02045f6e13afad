#include "store/layer_store.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/scope_exit.h"

namespace polybox::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyLength = 64;

constexpr std::string_view kLockPrefix = ".lock-";
// The name of a layer that is being made or removed begins with this; its key follows, then a dot.
constexpr std::string_view kUnfinishedPrefix = ".new-";

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

std::uint64_t SizeOf(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    // The approximate size on the disk: even a small file uses a whole block.
    if (entry->is_regular_file(error)) bytes += (entry->file_size(error) + 4095) / 4096 * 4096;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<LayerStore>> LayerStore::Open(LayerStoreOptions options) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) return Error::FromErrno("make " + options.directory, error.value());
  std::unique_ptr<LayerStore> store(new LayerStore(std::move(options)));
  store->Sweep();
  store->MakeRoom();
  return store;
}

Result<LayerLease> LayerStore::Use(const std::string& key) {
  const std::string path = PathOf(key);
  if (!IsDirectory(path)) return LayerLease();
  POLYBOX_ASSIGN_OR_RETURN(SetLock lock, SetLock::Try(LockPath(key), SetLock::Mode::kShared));
  // The layer is looked for again under the lock: it may have been removed before the lock was
  // taken.
  if (!lock.held() || !IsDirectory(path)) return LayerLease();
  ::futimens(lock.file(), nullptr);  // the time of the last use
  return LayerLease(path, std::move(lock));
}

Result<LayerStore::Made> LayerStore::Make(
    const std::string& key, const std::function<Result<bool>(const std::string&)>& fill) {
  POLYBOX_ASSIGN_OR_RETURN(SetLock lock, SetLock::Try(LockPath(key), SetLock::Mode::kAlone));
  Made made;
  made.busy = !lock.held();
  made.there = !made.busy && IsDirectory(PathOf(key));
  if (made.busy || made.there) return made;
  const Result<std::optional<Bytes>> size = MakeAlone(key, lock, fill);
  if (!size.ok() || !*size) {
    ::unlink(LockPath(key).c_str());
    if (!size.ok()) return size.error();
    return made;
  }
  made.fresh = true;
  made.size = **size;
  // Another process may take the lock alone before it is shared, and remove the layer.
  lock.Share();
  if (lock.held() && IsDirectory(PathOf(key)))
    made.lease = LayerLease(PathOf(key), std::move(lock));
  MakeRoom();
  return made;
}

Result<std::optional<Bytes>> LayerStore::MakeAlone(
    const std::string& key, const SetLock& lock,
    const std::function<Result<bool>(const std::string&)>& fill) {
  std::string fresh = PathOf(fmt::format("{}{}.XXXXXX", kUnfinishedPrefix, key));
  if (::mkdtemp(fresh.data()) == nullptr) return Error::FromErrno("make " + fresh);
  const ScopeExit remove_fresh([&] {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
  });
  POLYBOX_ASSIGN_OR_RETURN(const bool complete, fill(fresh));
  if (!complete) return std::optional<Bytes>();
  const std::uint64_t size = SizeOf(fresh);
  POLYBOX_RETURN_IF_ERROR(WriteAll(lock.file(), std::to_string(size)).In("note the layer's size"));
  if (::chmod(fresh.c_str(), 0755) != 0) return Error::FromErrno("open up " + fresh);
  // The layer must be completely on the disk before it gets its name. Otherwise a power failure
  // could leave an incomplete layer.
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd directory, OpenFile(fresh, O_RDONLY | O_DIRECTORY));
  if (::syncfs(directory.get()) != 0) return Error::FromErrno("write out " + fresh);
  if (std::rename(fresh.c_str(), PathOf(key).c_str()) != 0) return Error::FromErrno("name a layer");
  return std::optional(Bytes(size));
}

void LayerStore::Sweep() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.directory, ignored)) {
    const std::string name = entry.path().filename();
    const bool unfinished = name.starts_with(kUnfinishedPrefix);
    if (!unfinished && !name.starts_with(kLockPrefix)) continue;
    const std::string key =
        name.substr(unfinished ? kUnfinishedPrefix.size() : kLockPrefix.size(), kKeyLength);
    // If no other process holds the lock, the server that made this file has ended.
    const Result<SetLock> lock = SetLock::Try(LockPath(key), SetLock::Mode::kAlone);
    if (!lock.ok() || !lock->held()) continue;  // another server uses it
    if (unfinished) fs::remove_all(entry.path(), ignored);
    if (!IsDirectory(PathOf(key))) ::unlink(LockPath(key).c_str());
  }
}

void LayerStore::MakeRoom() {
  struct Layer {
    timespec used;
    std::string key;
    std::uint64_t size;
  };
  std::vector<Layer> layers;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.directory, ignored)) {
    Layer layer = {{}, entry.path().filename(), 0};
    if (layer.key.size() != kKeyLength || layer.key.starts_with('.')) continue;
    struct stat info{};
    if (::stat(LockPath(layer.key).c_str(), &info) == 0) layer.used = info.st_mtim;
    const std::string size = ReadFile(LockPath(layer.key)).value_or("");
    std::from_chars(size.data(), size.data() + size.size(), layer.size);
    total += layer.size;
    layers.push_back(std::move(layer));
  }
  std::ranges::sort(layers, [](const Layer& a, const Layer& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Layer& layer : layers) {
    if (total <= options_.size.count()) return;
    const Result<SetLock> lock = SetLock::Try(LockPath(layer.key), SetLock::Mode::kAlone);
    if (!lock.ok() || !lock->held()) continue;  // in use
    Remove(layer.key);
    total -= layer.size;
  }
}

void LayerStore::Remove(const std::string& key) {
  // The layer loses its name first, so that a layer with its name is always complete.
  const std::string aside = PathOf(fmt::format("{}{}.old", kUnfinishedPrefix, key));
  std::error_code ignored;
  if (std::rename(PathOf(key).c_str(), aside.c_str()) == 0) fs::remove_all(aside, ignored);
  ::unlink(LockPath(key).c_str());
}

}  // namespace polybox::store

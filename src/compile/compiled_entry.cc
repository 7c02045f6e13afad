#include "compile/compiled_entry.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/wire.h"
#include "store/digest.h"
#include "sys/guest_tree.h"

namespace polybox::compile {
namespace {

using jail::FileHeader;

constexpr std::string_view kMagic = "polybox compiled 1\n";
constexpr std::size_t kDigestSize = 64;
// The trailer contains two sizes, a digest of the manifest and of these sizes, and the magic text.
constexpr std::size_t kTrailerSize = 2 * sizeof(std::uint64_t) + kDigestSize + kMagic.size();
constexpr std::size_t kBuffer = 256 << 10;
// Half the size of a message to a slot.
constexpr std::size_t kLargestNames = jail::kLargestMessage / 2;

Error Unfit(const std::string& path, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("{}: {}", path, why)};
}

/// A file of the directory.
struct Found {
  mode_t mode = 0;
  std::uint64_t size = 0;
};

class EntryWriter {
 public:
  EntryWriter(int file, int directory, const EntryContext& context, const EntryLimits& limits)
      : file_(file), directory_(directory), context_(context), limits_(limits) {}

  Status Write() {
    POLYBOX_RETURN_IF_ERROR(Look());
    for (const jail::InputFile& input : context_.inputs) POLYBOX_RETURN_IF_ERROR(Keep(input.name));
    // The other files follow in the order of their names, so a directory comes before its contents.
    while (!found_.empty()) POLYBOX_RETURN_IF_ERROR(Keep(std::string(found_.begin()->first)));
    return Finish();
  }

 private:
  Status Look() {
    const sys::TreeVisitor visitor = {
        .entry = [&](const sys::TreeEntry& entry) { return Note(entry); },
        .skipped = [](const std::string& path, std::string_view why) -> Status {
          return Unfit(path, why);
        }};
    return sys::WalkGuestTree(directory_, {.entries = limits_.files}, visitor);
  }

  Status Note(const sys::TreeEntry& entry) {
    names_ += entry.path.size() + sizeof(FileHeader);
    if (names_ > kLargestNames) return Unfit(entry.path, "too many names");
    const mode_t mode = entry.info.st_mode;
    if (S_ISLNK(mode)) return NoteLink(entry);
    if (!S_ISREG(mode) && !S_ISDIR(mode)) return Unfit(entry.path, "not a plain file");
    const auto size = S_ISREG(mode) ? static_cast<std::uint64_t>(entry.info.st_size) : 0;
    if (size > limits_.bytes.count() - bytes_) return Unfit(entry.path, "too large");
    bytes_ += size;
    found_[entry.path] = {mode, size};
    return {};
  }

  /// Accepts only links that are inputs and are unchanged.
  Status NoteLink(const sys::TreeEntry& entry) {
    const auto input = std::ranges::find(context_.inputs, entry.path, &jail::InputFile::name);
    std::string target(4096, '\0');
    const ssize_t length =
        ::readlinkat(entry.directory, entry.name.c_str(), target.data(), target.size());
    target.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (input == context_.inputs.end() || !S_ISLNK(input->mode) || input->content != target) {
      return Unfit(entry.path, "a link");
    }
    found_[entry.path] = {entry.info.st_mode, target.size()};
    return {};
  }

  Status Keep(const std::string& path) {
    const auto node = found_.extract(path);
    if (node.empty()) return {};  // the compiler removed it, or the inputs contain it twice
    const Found& found = node.mapped();
    FileHeader header = {path, found.mode & (S_IFMT | 0777U), found.size};
    if (S_ISREG(found.mode)) {
      header.mode = found.mode & 0777U;
      POLYBOX_RETURN_IF_ERROR(CopyFile(path, found.size));
    } else if (S_ISLNK(found.mode)) {
      const auto input = std::ranges::find(context_.inputs, path, &jail::InputFile::name);
      POLYBOX_RETURN_IF_ERROR(Append(input->content));
    }
    headers_.push_back(std::move(header));
    return {};
  }

  Status CopyFile(const std::string& path, std::uint64_t size) {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd source, sys::OpenBeneath(directory_, path, O_RDONLY));
    struct stat info{};
    if (::fstat(source.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return Unfit(path, "changed while it was read");
    }
    while (size > 0) {
      const ssize_t count =
          ::read(source.get(), buffer_.data(), std::min<std::uint64_t>(buffer_.size(), size));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Unfit(path, "cannot be read");
      POLYBOX_RETURN_IF_ERROR(Append({buffer_.data(), static_cast<std::size_t>(count)}));
      size -= static_cast<std::uint64_t>(count);
    }
    return {};
  }

  Status Append(std::string_view bytes) {
    digest_.Add(bytes);
    written_ += bytes.size();
    return WriteAll(file_, bytes);
  }

  Status Finish() {
    wire::Writer manifest;
    manifest.Put(context_.key);
    manifest.Put(digest_.Finish());
    manifest.Put(static_cast<std::uint32_t>(headers_.size()));
    for (const FileHeader& header : headers_) {
      manifest.Put(header.name);
      manifest.Put(header.mode);
      manifest.Put(header.size);
    }
    manifest.Put(static_cast<std::uint32_t>(context_.said.size()));
    for (const Said& said : context_.said) {
      manifest.Put(said.stream);
      manifest.Put(said.text);
    }
    PutUsage(manifest);
    wire::Writer sizes;
    sizes.Put(written_);
    sizes.Put(static_cast<std::uint64_t>(manifest.bytes().size()));
    return WriteAll(file_, fmt::format("{}{}{}{}", manifest.bytes(), sizes.bytes(),
                                       store::Sha256(manifest.bytes() + sizes.bytes()), kMagic));
  }

  /// Unknown values are written as -1.
  void PutUsage(wire::Writer& manifest) const {
    const jail::Outcome& outcome = context_.outcome;
    const auto time = [](const std::optional<Duration>& one) { return one ? one->count() : -1; };
    manifest.Put(std::int64_t{outcome.wall.count()});
    manifest.Put(std::int64_t{time(outcome.cpu_user)});
    manifest.Put(std::int64_t{time(outcome.cpu_system)});
    manifest.Put(outcome.memory_peak ? static_cast<std::int64_t>(outcome.memory_peak->count())
                                     : std::int64_t{-1});
    manifest.Put(outcome.processes_peak.value_or(-1));
  }

  int file_;
  int directory_;
  const EntryContext& context_;
  const EntryLimits& limits_;
  std::map<std::string, Found, std::less<>> found_;
  std::uint64_t bytes_ = 0;
  std::size_t names_ = 0;
  std::string buffer_ = std::string(kBuffer, '\0');
  store::Sha256Stream digest_;
  std::uint64_t written_ = 0;
  std::vector<FileHeader> headers_;
};

/// Reads `size` bytes at `offset`; fewer when the file ends earlier.
std::string ReadAt(int file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t length = 0;
  while (length < size) {
    const ssize_t count =
        ::pread(file, bytes.data() + length, size - length, static_cast<off_t>(offset + length));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  bytes.resize(length);
  return bytes;
}

void ReadUsage(wire::Reader& reader, jail::Outcome& outcome) {
  std::int64_t wall = 0;
  std::int64_t user = 0;
  std::int64_t system = 0;
  std::int64_t memory = 0;
  std::int64_t processes = 0;
  reader.Get(wall);
  reader.Get(user);
  reader.Get(system);
  reader.Get(memory);
  reader.Get(processes);
  outcome.wall = Duration(wall);
  if (user >= 0) outcome.cpu_user = Duration(user);
  if (system >= 0) outcome.cpu_system = Duration(system);
  if (memory >= 0) outcome.memory_peak = Bytes(static_cast<std::uint64_t>(memory));
  if (processes >= 0) outcome.processes_peak = processes;
}

/// Returns false if the bytes are not a manifest.
bool ReadManifest(std::string_view bytes, std::string& key, CompiledEntry& entry) {
  wire::Reader reader(bytes);
  std::uint32_t count = 0;
  reader.Get(key);
  reader.Get(entry.digest);
  reader.Get(count);
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    FileHeader& header = entry.files.emplace_back();
    reader.Get(header.name);
    reader.Get(header.mode);
    reader.Get(header.size);
  }
  reader.Get(count);
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    Said& said = entry.said.emplace_back();
    reader.Get(said.stream);
    reader.Get(said.text);
  }
  ReadUsage(reader, entry.outcome);
  return reader.Complete();
}

Error Torn(std::string_view how) {
  return {ErrorKind::kInvalid, fmt::format("a torn cache entry: {}", how)};
}

std::uint64_t ContentSize(const CompiledEntry& entry) {
  std::uint64_t size = 0;
  for (const FileHeader& header : entry.files) size += header.size;
  return size;
}

}  // namespace

Status WriteEntry(int file, int directory, const EntryContext& context, const EntryLimits& limits) {
  return EntryWriter(file, directory, context, limits).Write();
}

Result<CompiledEntry> ReadEntry(UniqueFd file, const std::string& key) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return Error::FromErrno("look at a cache entry");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < kTrailerSize) return Torn("too short");
  const std::string trailer = ReadAt(file.get(), size - kTrailerSize, kTrailerSize);
  constexpr std::size_t kSizes = 2 * sizeof(std::uint64_t);
  if (trailer.size() != kTrailerSize || !trailer.ends_with(kMagic)) return Torn("no trailer");
  wire::Reader sizes(std::string_view(trailer).substr(0, kSizes));
  std::uint64_t contents = 0;
  std::uint64_t length = 0;
  sizes.Get(contents);
  sizes.Get(length);
  const std::uint64_t before_trailer = size - kTrailerSize;
  if (length > before_trailer || contents != before_trailer - length) return Torn("wrong size");
  const std::string manifest = ReadAt(file.get(), contents, length);
  if (store::Sha256(manifest + trailer.substr(0, kSizes)) != trailer.substr(kSizes, kDigestSize)) {
    return Torn("wrong manifest");
  }
  CompiledEntry entry;
  std::string written_for;
  if (!ReadManifest(manifest, written_for, entry)) return Torn("not a manifest");
  if (written_for != key || ContentSize(entry) != contents) return Torn("another's");
  entry.file = std::move(file);
  return entry;
}

bool ContentsAreWhole(const CompiledEntry& entry) {
  store::Sha256Stream digest;
  const std::uint64_t size = ContentSize(entry);
  for (std::uint64_t at = 0; at < size;) {
    const std::string part =
        ReadAt(entry.file.get(), at, std::min<std::uint64_t>(kBuffer, size - at));
    if (part.empty()) return false;
    digest.Add(part);
    at += part.size();
  }
  return digest.Finish() == entry.digest;
}

}  // namespace polybox::compile

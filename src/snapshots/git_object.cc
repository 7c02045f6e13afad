#include "snapshots/git_object.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <zlib.h>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace polybox::snapshots {
namespace {

/// Snapshots are made while an agent waits, so speed is worth more than the last tenth of space.
constexpr int kCompression = Z_BEST_SPEED;
/// "commit", a space, twenty digits and a zero byte.
constexpr std::size_t kLongestHeader = 32;
constexpr std::string_view kIdentity = "polybox <polybox@localhost>";

std::string_view NameOf(ObjectType type) {
  switch (type) {
    case ObjectType::kBlob:
      return "blob";
    case ObjectType::kTree:
      return "tree";
    case ObjectType::kCommit:
      return "commit";
  }
  return "";
}

std::string HeaderOf(ObjectType type, std::size_t size) {
  std::string header = fmt::format("{} {}", NameOf(type), size);
  header += '\0';
  return header;
}

/// Aborts if a call failed. These calls can only fail for lack of memory.
void Check(bool done) {
  if (!done) std::abort();
}

Error Damaged(const ObjectId& id) {
  return {ErrorKind::kSystem, fmt::format("the stored object {} is damaged", Hex(id))};
}

/// The order of git: a directory sorts as if its name ended with a slash.
bool Before(const TreeEntry& left, const TreeEntry& right) {
  const auto sorted = [](const TreeEntry& entry) {
    return entry.mode == EntryMode::kDirectory ? entry.name + "/" : entry.name;
  };
  return sorted(left) < sorted(right);
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name != ".git" &&
         name.find('/') == std::string_view::npos;
}

std::optional<EntryMode> ParseMode(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  for (const EntryMode mode :
       {EntryMode::kDirectory, EntryMode::kFile, EntryMode::kExecutable, EntryMode::kLink}) {
    if (number == static_cast<std::uint32_t>(mode)) return mode;
  }
  return std::nullopt;
}

/// Takes the text before `end` from the front of `text`, and `end` itself.
std::optional<std::string_view> TakeTo(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

}  // namespace

std::string Hex(const ObjectId& id) {
  std::string text;
  for (const std::uint8_t byte : id.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<ObjectId> ParseHex(std::string_view text) {
  ObjectId id;
  if (text.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const std::string_view digits = text.substr(2 * i, 2);
    if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
    std::from_chars(digits.data(), digits.data() + 2, id.bytes[i], 16);
  }
  return id;
}

ObjectId IdOf(ObjectType type, std::string_view content) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  Check(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1);
  const std::string header = HeaderOf(type, content.size());
  Check(EVP_DigestUpdate(context.get(), header.data(), header.size()) == 1);
  Check(EVP_DigestUpdate(context.get(), content.data(), content.size()) == 1);
  ObjectId id;
  Check(EVP_DigestFinal_ex(context.get(), id.bytes.data(), nullptr) == 1);
  return id;
}

std::string Compress(ObjectType type, std::string_view content) {
  const std::string whole = HeaderOf(type, content.size()).append(content);
  uLongf size = ::compressBound(whole.size());
  std::string compressed(size, '\0');
  Check(::compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                    reinterpret_cast<const Bytef*>(whole.data()), whole.size(),
                    kCompression) == Z_OK);
  compressed.resize(size);
  return compressed;
}

Result<std::string> Decompress(std::string_view compressed, ObjectType type, const ObjectId& id,
                               Bytes largest) {
  std::string content(
      kLongestHeader + std::min<std::size_t>(compressed.size() * 4, largest.count()), '\0');
  z_stream stream{};
  Check(::inflateInit(&stream) == Z_OK);
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> end(&stream, ::inflateEnd);
  // zlib does not write through this pointer.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.total_out == content.size()) {
      if (content.size() >= kLongestHeader + largest.count()) return Damaged(id);
      content.resize(std::min(content.size() * 2, kLongestHeader + largest.count()));
    }
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + stream.total_out);
    stream.avail_out = static_cast<uInt>(content.size() - stream.total_out);
    state = ::inflate(&stream, Z_NO_FLUSH);
  }
  if (state != Z_STREAM_END) return Damaged(id);
  content.resize(stream.total_out);
  const std::size_t header = content.find('\0');
  if (header == std::string::npos) return Damaged(id);
  const bool fits =
      content.compare(0, header + 1, HeaderOf(type, content.size() - header - 1)) == 0;
  content.erase(0, header + 1);
  if (!fits || IdOf(type, content) != id) return Damaged(id);
  return content;
}

std::string TreeContent(std::vector<TreeEntry> entries) {
  std::ranges::sort(entries, Before);
  std::string content;
  for (const TreeEntry& entry : entries) {
    content += fmt::format("{:o} {}", static_cast<std::uint32_t>(entry.mode), entry.name);
    content += '\0';
    content.append(entry.id.bytes.begin(), entry.id.bytes.end());
  }
  return content;
}

Result<std::vector<TreeEntry>> ParseTree(std::string_view content) {
  const Error damaged(ErrorKind::kSystem, "a stored tree is damaged");
  std::vector<TreeEntry> entries;
  while (!content.empty()) {
    const std::optional<std::string_view> mode_text = TakeTo(content, ' ');
    const std::optional<EntryMode> mode = ParseMode(mode_text.value_or(""));
    const std::optional<std::string_view> name = TakeTo(content, '\0');
    ObjectId id;
    if (!mode || !IsFileName(name.value_or("")) || content.size() < id.bytes.size()) return damaged;
    std::copy_n(content.begin(), id.bytes.size(), id.bytes.begin());
    content.remove_prefix(id.bytes.size());
    entries.push_back({*mode, std::string(*name), id});
  }
  return entries;
}

std::string CommitContent(const Commit& commit) {
  return fmt::format("tree {}\nauthor {} {} +0000\ncommitter {} {} +0000\n\n{}\n", Hex(commit.tree),
                     kIdentity, commit.time, kIdentity, commit.time, commit.message);
}

Result<Commit> ParseCommit(std::string_view content) {
  const Error damaged(ErrorKind::kSystem, "a stored commit is damaged");
  Commit commit;
  constexpr std::string_view kTree = "tree ";
  const std::optional<std::string_view> tree = TakeTo(content, '\n');
  if (!tree || !tree->starts_with(kTree)) return damaged;
  const std::optional<ObjectId> id = ParseHex(tree->substr(kTree.size()));
  const std::string_view author = TakeTo(content, '\n').value_or("");
  const std::size_t after = author.find("> ");
  const std::size_t header = content.find("\n\n");
  if (!id || after == std::string_view::npos || header == std::string_view::npos) return damaged;
  commit.tree = *id;
  const std::string_view time = author.substr(after + 2);
  std::from_chars(time.data(), time.data() + time.size(), commit.time);
  commit.message = content.substr(header + 2);
  while (commit.message.ends_with('\n')) commit.message.pop_back();
  return commit;
}

}  // namespace polybox::snapshots

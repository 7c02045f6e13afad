#include "jail/init/protocol.h"

#include <array>

namespace polybox::jail::init {
namespace {

// One description of each message serves both directions: `Archive` is a Writer or a Reader.

void Transfer(Writer& writer, const auto& value) {
  writer.Put(value);
}
void Transfer(Reader& reader, auto& value) {
  reader.Get(value);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Operation>
{
  Transfer(archive, message.kind);
  Transfer(archive, message.target);
  Transfer(archive, message.source);
  Transfer(archive, message.tree);
  Transfer(archive, message.flags);
  Transfer(archive, message.bytes);
  Transfer(archive, message.inodes);
  Transfer(archive, message.mode);
  Transfer(archive, message.is_file);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, ResourceLimit>
{
  Transfer(archive, message.resource);
  Transfer(archive, message.value);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, FileHeader>
{
  Transfer(archive, message.name);
  Transfer(archive, message.mode);
  Transfer(archive, message.size);
}

template <typename Item>
void Sequence(Writer& writer, const std::vector<Item>& items) {
  writer.Put(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) Fields(writer, item);
}

template <typename Item>
void Sequence(Reader& reader, std::vector<Item>& items) {
  std::uint32_t count = 0;
  reader.Get(count);
  items.clear();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) Fields(reader, items.emplace_back());
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Setup>
{
  Sequence(archive, message.operations);
  Transfer(archive, message.scratch);
  Transfer(archive, message.seccomp);
  Transfer(archive, message.fail_at);
  Transfer(archive, message.has_root);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Files>
{
  Transfer(archive, message.directory);
  Sequence(archive, message.files);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Run>
{
  Transfer(archive, message.argv);
  Transfer(archive, message.env);
  Transfer(archive, message.directory);
  Sequence(archive, message.limits);
  Transfer(archive, message.wall_nanoseconds);
  Transfer(archive, message.cpu_nanoseconds);
  Transfer(archive, message.cpu_nanoseconds_per_second);
  Transfer(archive, message.join_count);
  Transfer(archive, message.clone_into);
  Transfer(archive, message.watch_cpu);
  Transfer(archive, message.scratch_bytes);
  Transfer(archive, message.scratch_inodes);
  Transfer(archive, message.one_cpu);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Signal>
{
  Transfer(archive, message.number);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Ended>
{
  Transfer(archive, message.kind);
  Transfer(archive, message.exit_code);
  Transfer(archive, message.signal);
  Transfer(archive, message.wall_nanoseconds);
  Transfer(archive, message.user_nanoseconds);
  Transfer(archive, message.system_nanoseconds);
  Transfer(archive, message.largest_resident_bytes);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message)
  requires std::is_same_v<std::remove_const_t<Message>, Failed>
{
  Transfer(archive, message.stage);
  Transfer(archive, message.error);
  Transfer(archive, message.index);
}

template <typename Message>
std::string EncodeAs(MessageKind kind, const Message& message) {
  Writer writer;
  writer.Put(kind);
  Fields(writer, message);
  return writer.bytes();
}

template <typename Message>
bool DecodeAs(MessageKind kind, std::string_view bytes, Message& message) {
  if (bytes.empty() || KindOf(bytes) != kind) return false;
  Reader reader(bytes.substr(1));
  Fields(reader, message);
  return reader.Complete();
}

}  // namespace

std::string Encode(const Setup& message) {
  return EncodeAs(MessageKind::kSetup, message);
}
std::string Encode(const Files& message) {
  return EncodeAs(MessageKind::kFiles, message);
}
std::string Encode(const Run& message) {
  return EncodeAs(MessageKind::kRun, message);
}
std::string Encode(const Signal& message) {
  return EncodeAs(MessageKind::kSignal, message);
}
std::string Encode(const Ended& message) {
  return EncodeAs(MessageKind::kEnded, message);
}
std::string Encode(const Failed& message) {
  return EncodeAs(MessageKind::kFailed, message);
}
std::string Encode(MessageKind kind) {
  return std::string(1, static_cast<char>(kind));
}

bool Decode(std::string_view bytes, Setup& message) {
  return DecodeAs(MessageKind::kSetup, bytes, message);
}
bool Decode(std::string_view bytes, Files& message) {
  return DecodeAs(MessageKind::kFiles, bytes, message);
}
bool Decode(std::string_view bytes, Run& message) {
  return DecodeAs(MessageKind::kRun, bytes, message);
}
bool Decode(std::string_view bytes, Signal& message) {
  return DecodeAs(MessageKind::kSignal, bytes, message);
}
bool Decode(std::string_view bytes, Ended& message) {
  return DecodeAs(MessageKind::kEnded, bytes, message);
}
bool Decode(std::string_view bytes, Failed& message) {
  return DecodeAs(MessageKind::kFailed, bytes, message);
}

const char* StageName(Stage stage) {
  constexpr std::array kNames = {
      "read a message",      "make namespaces",     "take on the slot's identity",
      "build the root",      "write the files",     "empty the scratch space",
      "make the pod",        "join the cgroups",    "place the standard streams",
      "set resource limits", "give up privileges",  "install the system call filter",
      "enter the directory", "execute the program",
  };
  static_assert(kNames.size() == static_cast<std::size_t>(Stage::kExec) + 1);
  const auto index = static_cast<std::size_t>(stage);
  return index < kNames.size() ? kNames[index] : "do something unknown";
}

}  // namespace polybox::jail::init

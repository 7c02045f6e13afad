#include "jail/init/protocol.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace polybox::jail::init {
namespace {

// The members of each message in their order on the wire: one description serves both directions.
// run_view.cc reads the first four members of a Run without this table: keep their order.
template <typename Message>
constexpr auto kMembers = nullptr;

template <>
constexpr auto kMembers<Operation> = std::tuple(
    &Operation::kind, &Operation::target, &Operation::source, &Operation::tree, &Operation::flags,
    &Operation::bytes, &Operation::inodes, &Operation::mode, &Operation::is_file, &Operation::own,
    &Operation::changes_tree, &Operation::changes, &Operation::in_writable);
template <>
constexpr auto kMembers<ResourceLimit> =
    std::tuple(&ResourceLimit::resource, &ResourceLimit::value);
template <>
constexpr auto kMembers<FileHeader> =
    std::tuple(&FileHeader::name, &FileHeader::mode, &FileHeader::size);
template <>
constexpr auto kMembers<PathRule> = std::tuple(&PathRule::path, &PathRule::rights);
template <>
constexpr auto kMembers<Bare> = std::tuple(&Bare::walls, &Bare::home, &Bare::uid, &Bare::user,
                                           &Bare::group, &Bare::closed_trees, &Bare::rules);
template <>
constexpr auto kMembers<WarmStart> = std::tuple(&WarmStart::kind, &WarmStart::argv, &WarmStart::env,
                                                &WarmStart::entry, &WarmStart::limits);
template <>
constexpr auto kMembers<Setup> =
    std::tuple(&Setup::operations, &Setup::filter_of_slot, &Setup::filter_of_guest, &Setup::fail_at,
               &Setup::has_root, &Setup::bare, &Setup::warm, &Setup::reuse, &Setup::guards_proc);
template <>
constexpr auto kMembers<SharedTree> = std::tuple(&SharedTree::index, &SharedTree::error);
template <>
constexpr auto kMembers<Built> = std::tuple(&Built::shared);
template <>
constexpr auto kMembers<Files> = std::tuple(&Files::directory, &Files::files);
template <>
constexpr auto kMembers<Resize> = std::tuple(&Resize::bytes, &Resize::inodes);
template <>
constexpr auto kMembers<NextCell> =
    std::tuple(&NextCell::join_count, &NextCell::clone_into, &NextCell::warm,
               &NextCell::between_sessions, &NextCell::counted);
template <>
constexpr auto kMembers<Fork> =
    std::tuple(&Fork::join_count, &Fork::clone_into, &Fork::moves, &Fork::sets_number);
template <>
constexpr auto kMembers<CellReady> = std::tuple(
    &CellReady::init, &CellReady::guest, &CellReady::warm, &CellReady::zygote, &CellReady::new_init,
    &CellReady::new_work, &CellReady::new_egress, &CellReady::has_work);
template <>
constexpr auto kMembers<OpenDirectory> =
    std::tuple(&OpenDirectory::name, &OpenDirectory::after_run);
template <>
constexpr auto kMembers<Run> =
    std::tuple(&Run::argv, &Run::env, &Run::directory, &Run::limits, &Run::warm, &Run::filter);
template <>
constexpr auto kMembers<Ended> =
    std::tuple(&Ended::status, &Ended::user_nanoseconds, &Ended::system_nanoseconds,
               &Ended::largest_resident_bytes, &Ended::started);
template <>
constexpr auto kMembers<StartProcess> =
    std::tuple(&StartProcess::run, &StartProcess::terminal, &StartProcess::rows,
               &StartProcess::columns, &StartProcess::join_count, &StartProcess::clone_into);
template <>
constexpr auto kMembers<Seal> =
    std::tuple(&Seal::path, &Seal::device, &Seal::inode, &Seal::writable);
template <>
constexpr auto kMembers<SealPaths> = std::tuple(&SealPaths::paths);
template <>
constexpr auto kMembers<SealResult> = std::tuple(&SealResult::error);
template <>
constexpr auto kMembers<Sealed> = std::tuple(&Sealed::results);
template <>
constexpr auto kMembers<SendSignal> = std::tuple(&SendSignal::number);
template <>
constexpr auto kMembers<TreeEnded> =
    std::tuple(&TreeEnded::user_nanoseconds, &TreeEnded::system_nanoseconds,
               &TreeEnded::largest_resident_bytes);
template <>
constexpr auto kMembers<Failed> = std::tuple(&Failed::stage, &Failed::error, &Failed::index);

template <typename T>
concept Described = !std::is_null_pointer_v<std::remove_const_t<decltype(kMembers<T>)>>;

template <typename Bytes>
void Transfer(wire::BasicWriter<Bytes>& writer, const auto& value) {
  writer.Put(value);
}
/// Transfer() is one field, in either direction: a value of the wire format, a described type, or a
/// list of described types.
void Transfer(Reader& reader, auto& value) {
  reader.Get(value);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message);

template <typename Bytes, Described Part>
void Transfer(wire::BasicWriter<Bytes>& writer, const Part& part) {
  Fields(writer, part);
}

template <Described Part>
void Transfer(Reader& reader, Part& part) {
  Fields(reader, part);
}

template <typename Bytes, Described Item>
void Transfer(wire::BasicWriter<Bytes>& writer, const std::vector<Item>& items) {
  writer.Put(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) Fields(writer, item);
}

template <Described Item>
void Transfer(Reader& reader, std::vector<Item>& items) {
  std::uint32_t count = 0;
  reader.Get(count);
  items.clear();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) Fields(reader, items.emplace_back());
}

/// Transfers all members of a message, in the order of kMembers.
template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message) {
  std::apply([&](auto... members) { (Transfer(archive, message.*members), ...); },
             kMembers<std::remove_const_t<Message>>);
}

template <typename Bytes = std::string, typename Message>
Bytes EncodeAs(MessageKind kind, const Message& message) {
  wire::BasicWriter<Bytes> writer;
  writer.Put(kind);
  Fields(writer, message);
  return writer.bytes();
}

/// Returns false for another kind, for a message that is too short, and for bytes after the last
/// field.
template <typename Message>
bool DecodeAs(MessageKind kind, std::string_view bytes, Message& message) {
  if (bytes.empty() || KindOf(bytes) != kind) return false;
  Reader reader(bytes.substr(1));
  Fields(reader, message);
  return reader.Complete();
}

}  // namespace

std::uint64_t PackUsedBefore(const timeval& user, const timeval& system) {
  constexpr std::uint64_t kMost = 0x7fffffff;  // half an hour, and the sum stays below an eventfd's
  const auto microseconds = [=](const timeval& time) {
    const std::uint64_t seconds = static_cast<std::uint64_t>(time.tv_sec);
    return std::min(seconds * 1'000'000U + static_cast<std::uint64_t>(time.tv_usec), kMost);
  };
  return (microseconds(user) << 32U | microseconds(system)) + 1;
}

UsedBefore UnpackUsedBefore(std::uint64_t word) {
  const std::uint64_t both = word - 1;
  return {(both >> 32U) * 1000U, (both & 0xffffffffU) * 1000U};
}

std::string Encode(const Setup& message) {
  return EncodeAs(MessageKind::kSetup, message);
}
std::string Encode(const Files& message) {
  return EncodeAs(MessageKind::kFiles, message);
}
std::string Encode(const Resize& message) {
  return EncodeAs(MessageKind::kResize, message);
}
std::string Encode(const NextCell& message) {
  return EncodeAs(MessageKind::kNextCell, message);
}
std::string Encode(const CellReady& message) {
  return EncodeAs(MessageKind::kCellReady, message);
}
std::string Encode(const OpenDirectory& message) {
  return EncodeAs(MessageKind::kOpenDirectory, message);
}
std::string Encode(const Run& message) {
  return EncodeAs(MessageKind::kRun, message);
}
SmallMessage Encode(const Fork& message) {
  return EncodeAs<SmallMessage>(MessageKind::kFork, message);
}
SmallMessage Encode(const Ended& message) {
  return EncodeAs<SmallMessage>(MessageKind::kEnded, message);
}
SmallMessage Encode(const Failed& message) {
  return EncodeAs<SmallMessage>(MessageKind::kFailed, message);
}
std::string Encode(const Built& message) {
  return EncodeAs(MessageKind::kBuilt, message);
}
std::string Encode(const StartProcess& message) {
  return EncodeAs(MessageKind::kStartProcess, message);
}
std::string Encode(const SealPaths& message) {
  return EncodeAs(MessageKind::kSealPaths, message);
}
std::string Encode(const Sealed& message) {
  return EncodeAs(MessageKind::kSealed, message);
}
SmallMessage Encode(const SendSignal& message) {
  return EncodeAs<SmallMessage>(MessageKind::kSendSignal, message);
}
SmallMessage Encode(const TreeEnded& message) {
  return EncodeAs<SmallMessage>(MessageKind::kTreeEnded, message);
}
SmallMessage Encode(MessageKind kind) {
  wire::BasicWriter<SmallMessage> writer;
  writer.Put(kind);
  return writer.bytes();
}

bool Decode(std::string_view bytes, Setup& message) {
  return DecodeAs(MessageKind::kSetup, bytes, message);
}
bool Decode(std::string_view bytes, Files& message) {
  return DecodeAs(MessageKind::kFiles, bytes, message);
}
bool Decode(std::string_view bytes, Resize& message) {
  return DecodeAs(MessageKind::kResize, bytes, message);
}
bool Decode(std::string_view bytes, NextCell& message) {
  return DecodeAs(MessageKind::kNextCell, bytes, message);
}
bool Decode(std::string_view bytes, CellReady& message) {
  return DecodeAs(MessageKind::kCellReady, bytes, message);
}
bool Decode(std::string_view bytes, OpenDirectory& message) {
  return DecodeAs(MessageKind::kOpenDirectory, bytes, message);
}
bool Decode(std::string_view bytes, Run& message) {
  return DecodeAs(MessageKind::kRun, bytes, message);
}
bool Decode(std::string_view bytes, Fork& message) {
  return DecodeAs(MessageKind::kFork, bytes, message);
}
bool Decode(std::string_view bytes, Ended& message) {
  return DecodeAs(MessageKind::kEnded, bytes, message);
}
bool Decode(std::string_view bytes, Failed& message) {
  return DecodeAs(MessageKind::kFailed, bytes, message);
}
bool Decode(std::string_view bytes, Built& message) {
  return DecodeAs(MessageKind::kBuilt, bytes, message);
}
bool Decode(std::string_view bytes, StartProcess& message) {
  return DecodeAs(MessageKind::kStartProcess, bytes, message);
}
bool Decode(std::string_view bytes, SealPaths& message) {
  return DecodeAs(MessageKind::kSealPaths, bytes, message);
}
bool Decode(std::string_view bytes, Sealed& message) {
  return DecodeAs(MessageKind::kSealed, bytes, message);
}
bool Decode(std::string_view bytes, SendSignal& message) {
  return DecodeAs(MessageKind::kSendSignal, bytes, message);
}
bool Decode(std::string_view bytes, TreeEnded& message) {
  return DecodeAs(MessageKind::kTreeEnded, bytes, message);
}

const char* StageName(Stage stage) {
  constexpr std::array kNames = {
      "read a message",
      "make namespaces",
      "take on the slot's identity",
      "build the root",
      "write the files",
      "empty the scratch space",
      "open a directory",
      "renew the network",
      "make the cell",
      "join the cgroups",
      "place the standard streams",
      "set resource limits",
      "give up privileges",
      "set up Landlock",
      "install the system call filter",
      "enter the directory",
      "execute the program",
      "start an interpreter ahead",
      "make a terminal",
  };
  static_assert(kNames.size() == static_cast<std::size_t>(Stage::kTerminal) + 1);
  const auto index = static_cast<std::size_t>(stage);
  return index < kNames.size() ? kNames[index] : "do something unknown";
}

}  // namespace polybox::jail::init

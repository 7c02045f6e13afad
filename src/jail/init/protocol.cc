#include "jail/init/protocol.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

namespace polybox::jail::init {
namespace {

// The members of each message in their order on the wire: one description serves both directions.
template <typename Message>
constexpr auto kMembers = nullptr;

template <>
constexpr auto kMembers<Operation> = std::tuple(
    &Operation::kind, &Operation::target, &Operation::source, &Operation::tree, &Operation::flags,
    &Operation::bytes, &Operation::inodes, &Operation::mode, &Operation::is_file, &Operation::own);
template <>
constexpr auto kMembers<ResourceLimit> =
    std::tuple(&ResourceLimit::resource, &ResourceLimit::value);
template <>
constexpr auto kMembers<FileHeader> =
    std::tuple(&FileHeader::name, &FileHeader::mode, &FileHeader::size);
template <>
constexpr auto kMembers<PathRule> = std::tuple(&PathRule::path, &PathRule::rights);
template <>
constexpr auto kMembers<Bare> =
    std::tuple(&Bare::walls, &Bare::home, &Bare::uid, &Bare::closed_trees, &Bare::rules);
template <>
constexpr auto kMembers<WarmStart> = std::tuple(&WarmStart::kind, &WarmStart::argv, &WarmStart::env,
                                                &WarmStart::entry, &WarmStart::limits);
template <>
constexpr auto kMembers<Setup> =
    std::tuple(&Setup::operations, &Setup::filter_of_slot, &Setup::filter_of_guest, &Setup::fail_at,
               &Setup::has_root, &Setup::bare, &Setup::warm);
template <>
constexpr auto kMembers<SharedTree> = std::tuple(&SharedTree::index, &SharedTree::error);
template <>
constexpr auto kMembers<Built> = std::tuple(&Built::shared);
template <>
constexpr auto kMembers<Files> = std::tuple(&Files::directory, &Files::files);
template <>
constexpr auto kMembers<Resize> = std::tuple(&Resize::bytes, &Resize::inodes);
template <>
constexpr auto kMembers<NextPod> =
    std::tuple(&NextPod::join_count, &NextPod::clone_into, &NextPod::warm,
               &NextPod::between_sessions, &NextPod::counted);
template <>
constexpr auto kMembers<Fork> =
    std::tuple(&Fork::join_count, &Fork::clone_into, &Fork::moves, &Fork::sets_number);
template <>
constexpr auto kMembers<PodReady> = std::tuple(
    &PodReady::init, &PodReady::guest, &PodReady::warm, &PodReady::zygote, &PodReady::new_init,
    &PodReady::new_work, &PodReady::new_egress, &PodReady::has_work);
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
constexpr auto kMembers<Failed> = std::tuple(&Failed::stage, &Failed::error, &Failed::index);

template <typename T>
concept Described = !std::is_null_pointer_v<std::remove_const_t<decltype(kMembers<T>)>>;

template <typename Bytes>
void Transfer(BasicWriter<Bytes>& writer, const auto& value) {
  writer.Put(value);
}
void Transfer(Reader& reader, auto& value) {
  reader.Get(value);
}

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message);

template <typename Bytes, Described Part>
void Transfer(BasicWriter<Bytes>& writer, const Part& part) {
  Fields(writer, part);
}

template <Described Part>
void Transfer(Reader& reader, Part& part) {
  Fields(reader, part);
}

template <typename Bytes, Described Item>
void Transfer(BasicWriter<Bytes>& writer, const std::vector<Item>& items) {
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

template <typename Archive, typename Message>
void Fields(Archive& archive, Message& message) {
  std::apply([&](auto... members) { (Transfer(archive, message.*members), ...); },
             kMembers<std::remove_const_t<Message>>);
}

template <typename Bytes = std::string, typename Message>
Bytes EncodeAs(MessageKind kind, const Message& message) {
  BasicWriter<Bytes> writer;
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
std::string Encode(const NextPod& message) {
  return EncodeAs(MessageKind::kNextPod, message);
}
std::string Encode(const PodReady& message) {
  return EncodeAs(MessageKind::kPodReady, message);
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
SmallMessage Encode(MessageKind kind) {
  BasicWriter<SmallMessage> writer;
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
bool Decode(std::string_view bytes, NextPod& message) {
  return DecodeAs(MessageKind::kNextPod, bytes, message);
}
bool Decode(std::string_view bytes, PodReady& message) {
  return DecodeAs(MessageKind::kPodReady, bytes, message);
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
      "make the pod",
      "join the cgroups",
      "place the standard streams",
      "set resource limits",
      "give up privileges",
      "set up Landlock",
      "install the system call filter",
      "enter the directory",
      "execute the program",
      "start an interpreter ahead",
  };
  static_assert(kNames.size() == static_cast<std::size_t>(Stage::kWarm) + 1);
  const auto index = static_cast<std::size_t>(stage);
  return index < kNames.size() ? kNames[index] : "do something unknown";
}

}  // namespace polybox::jail::init

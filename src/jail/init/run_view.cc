#include "jail/init/run_view.h"

#include <cstring>

namespace polybox::jail::init {
namespace {

/// Reads the fields of a message in place. It writes only to `room`, and allocates nothing: the
/// waiting guest shares memory with the slot init (raw.h).
class PlaceReader {
 public:
  PlaceReader(RunRoom& room, std::size_t size) : rest_(room.bytes.data(), size), room_(room) {}

  template <typename Number>
  Number GetNumber() {
    Number value{};
    if (const char* at = Take(sizeof value)) std::memcpy(&value, at, sizeof value);
    return value;
  }

  /// Moves the text to where its length was, so that there is room for its terminating 0.
  char* GetText() {
    char* length_at = rest_.data();
    const auto size = GetNumber<std::uint32_t>();
    const char* text = Take(size);
    if (text == nullptr) return nullptr;
    std::memmove(length_at, text, size);
    length_at[size] = '\0';
    return length_at;
  }

  char** GetTexts() {
    char** first = room_.words.data() + words_;
    const auto count = GetNumber<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && ok_; ++i) {
      if (char* text = GetText()) room_.words[words_++] = text;
    }
    if (ok_) room_.words[words_++] = nullptr;
    return first;
  }

  std::span<const ResourceLimit> GetLimits() {
    const auto count = GetNumber<std::uint32_t>();
    ok_ = ok_ && count <= room_.limits.size();
    if (!ok_) return {};
    for (std::uint32_t i = 0; i < count; ++i) {
      room_.limits[i].resource = GetNumber<std::int32_t>();
      room_.limits[i].value = GetNumber<std::uint64_t>();
    }
    return std::span<const ResourceLimit>(room_.limits).first(count);
  }

  bool ok() const { return ok_; }

 private:
  /// Returns a pointer to the next `size` bytes and skips them; null when the message is too short.
  char* Take(std::size_t size) {
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return nullptr;
    char* taken = rest_.data();
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<char> rest_;
  RunRoom& room_;
  std::size_t words_ = 0;
  bool ok_ = true;
};

}  // namespace

bool ReadInPlace(RunRoom& room, std::size_t size, RunView& run) {
  PlaceReader reader(room, size);
  if (reader.GetNumber<MessageKind>() != MessageKind::kRun) return false;
  run.argv = reader.GetTexts();
  run.env = reader.GetTexts();
  run.directory = reader.GetText();
  run.limits = reader.GetLimits();
  // The fields that follow are for interpreters that have started already.
  return reader.ok() && run.argv[0] != nullptr;
}

}  // namespace polybox::jail::init

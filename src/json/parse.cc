#include "json/parse.h"

#include <new>

#include <boost/json/parser.hpp>
#include <fmt/format.h>

namespace polybox::json {
namespace {

/// Memory with a limit for one value. An allocation over the limit throws std::bad_alloc, because
/// Boost.JSON can be stopped in no other way. Parse() catches the exception.
class BoundedMemory final : public boost::json::memory_resource {
 public:
  explicit BoundedMemory(Bytes limit) : left_(limit.count()) {}

 private:
  // Boost.JSON frees some memory with another alignment than that of its allocation. The
  // deallocation therefore ignores the alignment. No value needs more than the default alignment.
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    if (size > left_ || alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) throw std::bad_alloc();
    void* place = ::operator new(size);
    left_ -= size;
    return place;
  }
  void do_deallocate(void* place, std::size_t size, std::size_t /*alignment*/) override {
    ::operator delete(place);
    left_ += size;
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::uint64_t left_;
};

Error NotJson(std::string_view why, std::size_t at) {
  return {ErrorKind::kInvalid, fmt::format("not JSON: {} at byte {}", why, at)};
}

Result<Value> ParseWithin(std::string_view text, const ParseLimits& limits) {
  boost::json::parse_options options;
  options.max_depth = limits.depth;
  // The parser's own memory is subject to the same limit as the value.
  const boost::json::storage_ptr budget =
      boost::json::make_shared_resource<BoundedMemory>(limits.memory);
  boost::json::parser parser(budget, options);
  parser.reset(budget);
  boost::json::error_code error;
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (error == boost::json::error::too_deep) {
    return NotJson(fmt::format("more than {} levels of arrays and objects", limits.depth), read);
  }
  if (error == boost::json::error::incomplete) return NotJson("the text ends too early", read);
  if (error) return NotJson(error.message(), read);
  if (const std::size_t rest = text.find_first_not_of(" \t\r\n", read);
      rest != std::string_view::npos) {
    return NotJson("text after the value", rest);
  }
  // The caller gets a copy in ordinary memory, so that changes to the value are not subject to the
  // limit.
  return Value(parser.release(), boost::json::storage_ptr());
}

}  // namespace

std::string_view KindOf(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "nothing";
}

Result<Value> Parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.size.count()) {
    return Error(ErrorKind::kInvalid, fmt::format("the JSON text has {} bytes, more than {}",
                                                  text.size(), FormatBytes(limits.size)));
  }
  try {
    return ParseWithin(text, limits);
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kInvalid, fmt::format("the JSON text needs more than {} of memory",
                                                  FormatBytes(limits.memory)));
  }
}

}  // namespace polybox::json

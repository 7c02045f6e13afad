#include "exec/words.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::exec {
namespace {

/// The longest argument or variable: the kernel accepts 128 KiB including the zero byte at the end.
constexpr std::size_t kLongestWord = (128U << 10U) - 1;
/// The size of all arguments and variables, which go to the guest in one message.
constexpr std::size_t kMostWordBytes = 128 * 1024;
constexpr std::string_view kOutputVariable = "OUTPUT_DIR";

Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

bool HasZero(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

Status CheckArgs(const std::vector<std::string>& args, std::size_t& bytes) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (HasZero(args[i])) return Invalid(fmt::format("invalid args[{}]: it holds a zero byte", i));
    if (args[i].size() > kLongestWord) {
      return Invalid(fmt::format("invalid args[{}]: longer than {} bytes", i, kLongestWord));
    }
    bytes += args[i].size() + 1;
  }
  return {};
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", PrintableForQuotes(text, 300));
}

bool IsVariableName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status CheckEnv(const std::map<std::string, std::string>& env, std::size_t& bytes) {
  for (const auto& [name, value] : env) {
    if (!IsVariableName(name)) {
      return Invalid(fmt::format(
          "invalid env name {}: letters, digits and _ are allowed, no digit first", Quoted(name)));
    }
    if (name == kOutputVariable) {
      return Invalid(fmt::format("invalid env name {}: the server sets it", Quoted(name)));
    }
    if (HasZero(value)) {
      return Invalid(fmt::format("invalid env value of {}: it holds a zero byte", name));
    }
    if (name.size() + 1 + value.size() > kLongestWord) {
      return Invalid(fmt::format("invalid env value of {}: longer than {} bytes", name,
                                 kLongestWord - name.size() - 1));
    }
    bytes += name.size() + value.size() + 2;
  }
  return {};
}

}  // namespace

Status CheckWords(const std::vector<std::string>& args,
                  const std::map<std::string, std::string>& env) {
  std::size_t bytes = 0;
  POLYBOX_RETURN_IF_ERROR(CheckArgs(args, bytes));
  POLYBOX_RETURN_IF_ERROR(CheckEnv(env, bytes));
  if (bytes <= kMostWordBytes) return {};
  return Invalid(
      fmt::format("args and env are {} bytes together: {} are allowed", bytes, kMostWordBytes));
}

}  // namespace polybox::exec

// Result<T> and Status: how our own failures travel. A guest's fate (crash, timeout, out of memory)
// is never one of these: it is a value in its outcome.
//
// An Error is a sentence for a person, built from the inside out: the innermost layer says what
// failed (with errno, if the kernel said no), each layer above adds its intent once with In().
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace polybox {

/// What kind of failure it is, for those who must choose an exit code or a wire code. The message
/// says the rest.
enum class ErrorKind {
  kInvalid,      ///< The caller's input is wrong; trying again unchanged cannot help.
  kNotFound,     ///< Something that was named does not exist.
  kUnavailable,  ///< Something that is needed is missing on this host.
  kSystem,       ///< The operating system refused or failed.
};

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  /// The system call behind `intent` failed; takes errno as it is now.
  static Error FromErrno(std::string_view intent) { return FromErrno(intent, errno); }
  static Error FromErrno(std::string_view intent, int system_errno);

  ErrorKind kind() const { return kind_; }
  /// The errno of the failed system call, 0 if there was none.
  int system_errno() const { return system_errno_; }
  const std::string& message() const { return message_; }

  /// What the reader can do about it; "" when nothing is known. Not part of the message.
  const std::string& fix() const { return fix_; }
  Error WithFix(std::string fix) &&;

  /// Adds what the caller was trying to do: "read settings: open /x: No such file or directory".
  Error In(std::string_view intent) &&;

 private:
  ErrorKind kind_;
  int system_errno_ = 0;
  std::string message_;
  std::string fix_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  /// Only when !ok().
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

  Status In(std::string_view intent) && {
    return ok() ? Status() : Status(std::move(*this).error().In(intent));
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  /// Only when !ok().
  const Error& error() const& { return std::get<Error>(state_); }
  Error&& error() && { return std::get<Error>(std::move(state_)); }
  /// Only when ok().
  const T& value() const& { return std::get<T>(state_); }
  T& value() & { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  T value_or(T fallback) && { return ok() ? std::move(*this).value() : std::move(fallback); }

  Result In(std::string_view intent) && {
    return ok() ? std::move(*this) : Result(std::move(*this).error().In(intent));
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace polybox

#define POLYBOX_CONCAT_INNER(a, b) a##b
#define POLYBOX_CONCAT(a, b) POLYBOX_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Status or Result) to the caller, if there is one.
#define POLYBOX_RETURN_IF_ERROR(expression)                       \
  do {                                                            \
    if (auto polybox_status = (expression); !polybox_status.ok()) \
      return std::move(polybox_status).error();                   \
  } while (false)

/// `declaration = *expression`, or returns its error.
#define POLYBOX_ASSIGN_OR_RETURN(declaration, expression) \
  POLYBOX_ASSIGN_OR_RETURN_IMPL(POLYBOX_CONCAT(polybox_result_, __LINE__), declaration, expression)
#define POLYBOX_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return std::move(result).error();                  \
  declaration = std::move(result).value()

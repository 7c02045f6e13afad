// Result<T> and Status report failures of polybox itself. What happens to a guest (crash, timeout,
// out of memory) is never such a failure: it is a value in the guest's outcome.
//
// An Error contains a sentence for a person. The innermost layer says what failed, with errno if
// the kernel refused. Each layer above adds its intent once with In().
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace polybox {

/// The kind of a failure, for code that must choose an exit code or a status of a protocol. The
/// message contains the rest.
enum class ErrorKind {
  kInvalid,      ///< The caller's input is wrong; trying again unchanged cannot help.
  kNotFound,     ///< Something that the caller named does not exist.
  kUnavailable,  ///< This host lacks something that is needed.
  kSystem,       ///< The operating system refused or failed.
};

/// A failure: its kind, a sentence, and maybe advice.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  /// Makes an error for a failed system call. Uses the present value of errno, so no other call may
  /// come in between.
  static Error FromErrno(std::string_view intent) { return FromErrno(intent, errno); }
  static Error FromErrno(std::string_view intent, int system_errno);

  ErrorKind kind() const { return kind_; }
  /// The errno of the failed system call, 0 if there was none.
  int system_errno() const { return system_errno_; }
  const std::string& message() const { return message_; }

  /// Advice for the reader of the message; "" when there is none. Not part of the message.
  const std::string& fix() const { return fix_; }
  /// Sets the advice.
  Error WithFix(std::string fix) &&;

  /// Puts the caller's intent before the message: "read settings: open /x: No such file or
  /// directory".
  Error In(std::string_view intent) &&;

 private:
  ErrorKind kind_;
  int system_errno_ = 0;
  std::string message_;
  std::string fix_;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  /// Only when !ok().
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

  /// Adds the caller's intent to the error, if there is one.
  Status In(std::string_view intent) && {
    return ok() ? Status() : Status(std::move(*this).error().In(intent));
  }

 private:
  std::optional<Error> error_;
};

/// A value, or an Error.
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

  /// Returns the value, or `fallback` if there is an error.
  T value_or(T fallback) && { return ok() ? std::move(*this).value() : std::move(fallback); }

  /// Adds the caller's intent to the error, if there is one.
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

/// Evaluates `expression` (a Result). Assigns its value to `declaration`, or returns its error to
/// the caller.
#define POLYBOX_ASSIGN_OR_RETURN(declaration, expression) \
  POLYBOX_ASSIGN_OR_RETURN_IMPL(POLYBOX_CONCAT(polybox_result_, __LINE__), declaration, expression)
#define POLYBOX_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return std::move(result).error();                  \
  declaration = std::move(result).value()

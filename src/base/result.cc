#include "base/result.h"

#include <system_error>

namespace polybox {

Error Error::FromErrno(std::string_view intent, int system_errno) {
  Error error(ErrorKind::kSystem,
              std::string(intent) + ": " + std::generic_category().message(system_errno));
  error.system_errno_ = system_errno;
  return error;
}

Error Error::WithFix(std::string fix) && {
  fix_ = std::move(fix);
  return std::move(*this);
}

Error Error::In(std::string_view intent) && {
  message_.insert(0, std::string(intent) + ": ");
  return std::move(*this);
}

}  // namespace polybox

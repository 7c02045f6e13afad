// The state of a decoder that walks a value: its position in the value and the problems it has
// found. All problems are collected, so that a client can repair a request at once. Used by the
// codecs; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::json {

/// What happens to a member of a JSON object that the struct does not have.
enum class UnknownMembers {
  kRefuse,  ///< The member is a problem that names the nearest known member.
  kSkip,    ///< The member is ignored: for files and peers of a newer version.
};

class Reading {
 public:
  /// `what` names the whole value: "arguments".
  Reading(std::string_view what, UnknownMembers unknown) : path_(what), unknown_(unknown) {}

  /// Moves the reading to a member or item of its present value. The destructor moves it back, so
  /// objects must be destroyed in reverse order.
  class Step {
   public:
    Step(Reading& reading, std::string_view member);
    Step(Reading& reading, std::size_t index);
    ~Step() { reading_.path_.resize(length_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Reading& reading_;
    std::size_t length_;
  };

  /// Adds a problem, such as "must be a string", at the present position:
  /// "`arguments.edits[2].old_string` must be a string".
  void Complain(std::string_view problem);
  /// Returns whether the next problem will be named in the error, not only counted. Only then is a
  /// suggestion worth its cost.
  bool NamesNext() const;
  UnknownMembers unknown() const { return unknown_; }
  bool ok() const { return count_ == 0; }
  /// Returns an error with one sentence for all problems. Only when !ok().
  Error ToError() const;

 private:
  std::string path_;
  UnknownMembers unknown_;
  std::vector<std::string> problems_;
  std::size_t count_ = 0;
};

}  // namespace polybox::json

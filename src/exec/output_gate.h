// Holds back the output of a program that another language may take over. Output is held as long as
// it may be the interpreter's report that it cannot parse the program. After that it is passed on
// at once. Not thread-safe: the thread that runs the request calls it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/request.h"

namespace polybox::exec {

class OutputGate {
 public:
  using Sink = decltype(Request::on_output);

  /// `sink` may be null; the gate then does nothing.
  explicit OutputGate(Sink sink) : sink_(std::move(sink)) {}

  /// Sets the texts with which an error report of the interpreter begins. Must be called before the
  /// first output.
  void Expect(std::vector<std::string> begins) { begins_ = std::move(begins); }
  /// Holds a part of the output, or passes it on.
  void Take(StepKind step, Stream stream, std::string_view text);
  /// The other language begins. Its compiler's output is held until its program writes something.
  void BeginSecond();
  /// Opens the gate: passes on what is held, and from then on all output. Open() passes on the
  /// output of the language that runs now, OpenFirst() that of the first.
  void Open();
  void OpenFirst();

  /// Returns whether `err` (all of the error output, or its beginning) can be such a report.
  bool MayBeReport(std::string_view err) const;

 private:
  struct Part {
    StepKind step;
    Stream stream;
    std::string text;
  };

  void Pass(const std::vector<Part>& parts) const;

  Sink sink_;
  std::vector<std::string> begins_;
  /// Whether output is passed on at once.
  bool open_ = false;
  /// Whether the second language runs.
  bool is_second_ = false;
  /// The output that is held, of the first and of the second language.
  std::vector<Part> first_;
  std::vector<Part> second_;
  /// The error output of the first language.
  std::string err_;
};

}  // namespace polybox::exec

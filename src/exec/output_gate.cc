#include "exec/output_gate.h"

#include <algorithm>

namespace polybox::exec {
namespace {

/// The longest output that can be a report. A report quotes a line of the program, which can be
/// long.
constexpr std::size_t kLargestReport = 65536;

}  // namespace

void OutputGate::Take(StepKind step, Stream stream, std::string_view text) {
  if (!sink_) return;
  if (open_) return sink_(step, stream, text);
  (is_second_ ? second_ : first_).push_back({step, stream, std::string(text)});
  if (is_second_) {
    if (step == StepKind::kRun) Open();
    return;
  }
  err_ += text;
  if (stream == Stream::kOut || err_.size() > kLargestReport || !MayBeReport(err_)) OpenFirst();
}

void OutputGate::BeginSecond() {
  is_second_ = true;
}

void OutputGate::Open() {
  if (!open_) Pass(is_second_ ? second_ : first_);
  open_ = true;
}

void OutputGate::OpenFirst() {
  if (!open_) Pass(first_);
  open_ = true;
}

bool OutputGate::MayBeReport(std::string_view err) const {
  return std::ranges::any_of(begins_, [&](const std::string& begin) {
    return err.starts_with(begin) || std::string_view(begin).starts_with(err);
  });
}

void OutputGate::Pass(const std::vector<Part>& parts) const {
  if (!sink_) return;
  for (const Part& part : parts) sink_(part.step, part.stream, part.text);
}

}  // namespace polybox::exec

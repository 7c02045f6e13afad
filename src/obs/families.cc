#include "obs/families.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace polybox::obs {
namespace {

void AppendHead(std::string& text, const Description& description, std::string_view type) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", description.name, description.help,
                      description.name, type);
}

/// Escapes the value of a label: it stands between quotes on one line.
std::string Escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

/// Returns {language="python",le="0.5"}, or nothing when there is no label.
std::string Labels(const LabelNames& names, const LabelValues& values, std::string_view bound) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", names[i], Escaped(values[i]));
  }
  if (!bound.empty()) text += fmt::format("{}le=\"{}\"", text.empty() ? "" : ",", bound);
  return text.empty() ? text : "{" + text + "}";
}

/// The format has these spellings for infinity and NaN, which differ from those of fmt.
std::string Number(double value) {
  if (std::isfinite(value)) return fmt::format("{}", value);
  return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

void AppendCount(std::string& text, const Description& description, const LabelValues& values,
                 double count) {
  text += fmt::format("{}{} {}\n", description.name, Labels(description.labels, values, ""),
                      Number(count));
}

}  // namespace

void Counters::Add(const LabelValues& values, double amount) {
  const std::lock_guard lock(mutex_);
  values_[values] += amount;
}

void Counters::AppendTo(std::string& text) const {
  AppendHead(text, description_, "counter");
  const std::lock_guard lock(mutex_);
  for (const auto& [values, count] : values_) AppendCount(text, description_, values, count);
}

void KeptCounters::AppendTo(std::string& text) const {
  AppendHead(text, description, "counter");
  for (const auto& [labels, count] : values()) AppendCount(text, description, labels, count);
}

void Histograms::Observe(const LabelValues& values, double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  const std::lock_guard lock(mutex_);
  Series& series = series_[values];
  // One more bucket, for values above the last bound. Only a new series changes its size here.
  series.counts.resize(bounds_.size() + 1);
  ++series.counts[static_cast<std::size_t>(bucket)];
  series.sum += value;
}

void Histograms::AppendTo(std::string& text) const {
  AppendHead(text, description_, "histogram");
  const std::lock_guard lock(mutex_);
  for (const auto& [values, series] : series_) {
    // The format has cumulative counts: each bucket includes all smaller ones.
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < series.counts.size(); ++i) {
      below += series.counts[i];
      const std::string bound = i < bounds_.size() ? Number(bounds_[i]) : "+Inf";
      text += fmt::format("{}_bucket{} {}\n", description_.name,
                          Labels(description_.labels, values, bound), below);
    }
    const std::string labels = Labels(description_.labels, values, "");
    text += fmt::format("{}_sum{} {}\n{}_count{} {}\n", description_.name, labels,
                        Number(series.sum), description_.name, labels, below);
  }
}

void Gauge::AppendTo(std::string& text) const {
  AppendHead(text, description, "gauge");
  text += fmt::format("{} {}\n", description.name, Number(value()));
}

}  // namespace polybox::obs

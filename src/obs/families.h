// Counters, gauges and histograms with labels, and their text in the format of Prometheus (0.0.4).
// Any thread may use them. Label values must come from small sets, because each combination is kept
// forever.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::obs {

using LabelNames = std::vector<std::string>;
using LabelValues = std::vector<std::string>;

/// A metric's name, help text and label names.
struct Description {
  std::string name;
  std::string help;
  LabelNames labels = {};
};

class Counters {
 public:
  explicit Counters(Description description) : description_(std::move(description)) {}
  /// Adds to the counter of these label values, which are in the order of the labels.
  void Add(const LabelValues& values, double amount = 1);
  /// Appends this family to `text` in the Prometheus format.
  void AppendTo(std::string& text) const;

 private:
  Description description_;
  mutable std::mutex mutex_;
  std::map<LabelValues, double> values_;
};

class Histograms {
 public:
  /// `bounds` must be ascending. A last bucket without an upper bound is added.
  Histograms(Description description, std::vector<double> bounds)
      : description_(std::move(description)), bounds_(std::move(bounds)) {}
  void Observe(const LabelValues& values, double value);
  void AppendTo(std::string& text) const;

 private:
  struct Series {
    /// One count per bucket, not cumulative.
    std::vector<std::uint64_t> counts;
    double sum = 0;
  };

  Description description_;
  std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::map<LabelValues, Series> series_;
};

/// Counters that another object keeps. `values` is called each time the metrics are shown.
struct KeptCounters {
  struct Value {
    LabelValues labels;
    double count = 0;
  };

  Description description;
  std::function<std::vector<Value>()> values;

  void AppendTo(std::string& text) const;
};

/// A gauge without labels. `value` is called each time the metrics are shown.
struct Gauge {
  Description description;
  std::function<double()> value;

  void AppendTo(std::string& text) const;
};

}  // namespace polybox::obs

// Counters, gauges and histograms with labels, written in the text format of Prometheus (0.0.4).
// Any thread. Values of labels must come from small sets: each combination is kept for ever.
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

/// Its name, what it means, and the names of its labels.
struct Description {
  std::string name;
  std::string help;
  LabelNames labels = {};
};

class Counters {
 public:
  explicit Counters(Description description) : description_(std::move(description)) {}
  /// `values` in the order of the labels.
  void Add(const LabelValues& values, double amount = 1);
  void AppendTo(std::string& text) const;

 private:
  Description description_;
  mutable std::mutex mutex_;
  std::map<LabelValues, double> values_;
};

class Histograms {
 public:
  /// `bounds` are rising; one bucket for everything is added.
  Histograms(Description description, std::vector<double> bounds)
      : description_(std::move(description)), bounds_(std::move(bounds)) {}
  void Observe(const LabelValues& values, double value);
  void AppendTo(std::string& text) const;

 private:
  struct Series {
    /// Per bucket, not yet summed up.
    std::vector<std::uint64_t> counts;
    double sum = 0;
  };

  Description description_;
  std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::map<LabelValues, Series> series_;
};

/// Counters that someone else keeps, asked for when they are shown.
struct KeptCounters {
  struct Value {
    LabelValues labels;
    double count = 0;
  };

  Description description;
  std::function<std::vector<Value>()> values;

  void AppendTo(std::string& text) const;
};

/// A gauge without labels whose value is asked for when it is shown.
struct Gauge {
  Description description;
  std::function<double()> value;

  void AppendTo(std::string& text) const;
};

}  // namespace polybox::obs

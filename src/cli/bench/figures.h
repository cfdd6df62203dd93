// SPDX-License-Identifier: Apache-2.0
// What was measured: named figures, printed as a table or as JSON.
//
// Changing it: names and units are what bench/run and others read. Add, never rename.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace allot::bench {

struct Figure {
  std::string name;  // `drain/workers=64/batch=1`
  double value = 0;
  std::string unit;  // `tasks/s`, `us`, `ms`, `s`, `bytes`, `ratio`, `count`
};

class Figures {
 public:
  void Add(std::string name, double value, std::string_view unit);
  // p50, p99 and p99.9 of `values`, which it sorts.
  void AddPercentiles(const std::string& name, std::vector<double>& values, std::string_view unit);
  void AppendTable(std::string& out) const;
  // {"figures": [{"name": "…", "value": 1.5, "unit": "ms"}, …]}
  void AppendJson(std::string& out) const;
  const std::vector<Figure>& all() const { return figures_; }

 private:
  std::vector<Figure> figures_;
};

// The middle one; of an even number the lower of both. REQUIRES: not empty.
double Median(std::vector<double> values);

}  // namespace allot::bench

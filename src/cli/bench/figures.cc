// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace allot::bench {
namespace {

// Three digits that count; whole numbers above a hundred.
std::string Readable(double value) {
  if (value >= 100) return FormatCount(static_cast<std::uint64_t>(std::round(value)));
  return fmt::format("{:.3g}", value);
}

}  // namespace

void Figures::Add(std::string name, double value, std::string_view unit) {
  figures_.push_back({std::move(name), value, std::string(unit)});
}

void Figures::AddPercentiles(const std::string& name, std::vector<double>& values, std::string_view unit) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const auto at = [&values](double part) {
    return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
  };
  Add(name + "/p50", at(0.5), unit);
  Add(name + "/p99", at(0.99), unit);
  Add(name + "/p99.9", at(0.999), unit);
}

void Figures::AppendTable(std::string& out) const {
  std::size_t width = 0;
  for (const Figure& figure : figures_) width = std::max(width, figure.name.size());
  for (const Figure& figure : figures_) {
    out += fmt::format("{:<{}}  {:>12} {}\n", figure.name, width, Readable(figure.value), figure.unit);
  }
}

void Figures::AppendJson(std::string& out) const {
  JsonWriter json(out);
  json.BeginObject().Key("figures").BeginArray();
  for (const Figure& figure : figures_) {
    json.BeginObject().Key("name").String(figure.name).Key("value").Real(figure.value);
    json.Key("unit").String(figure.unit).EndObject();
  }
  json.EndArray().EndObject();
  out += '\n';
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

}  // namespace allot::bench

// SPDX-License-Identifier: Apache-2.0
// For tests: how long the engine keeps others waiting. Runs commands and remembers the longest of each name, in time of
// this thread's processor (which others on the machine do not lengthen by much) and in cells that were moved.
#pragma once

#include <ctime>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/parts.h"

namespace allot {

class EngineCheck {
 public:
  static std::uint64_t CellsMoved(const Engine& engine) { return engine.p_.orders.indices().cells_moved(); }
  static std::size_t OpenedGroups(const Engine& engine) { return engine.p_.orders.groups().opened(); }
};

namespace testing {

class StepRuler {
 public:
  struct Row {
    std::uint64_t calls = 0, cells = 0;
    std::int64_t nanoseconds = 0, total = 0;
  };

  template <typename F>
  auto Run(const std::string& name, const Engine& engine, F f) {
    struct Measure {
      Measure(Row& of, const Engine& in)
          : row(of), engine(in), cells(EngineCheck::CellsMoved(in)), began(Nanoseconds()) {}
      ~Measure() {
        const std::int64_t took = Nanoseconds() - began;
        const std::uint64_t now = EngineCheck::CellsMoved(engine);
        ++row.calls;
        row.total += took;
        row.nanoseconds = std::max(row.nanoseconds, took);
        row.cells = std::max(row.cells, now > cells ? now - cells : 0);
      }
      Row& row;
      const Engine& engine;
      const std::uint64_t cells;
      const std::int64_t began;
    };
    const Measure measure(rows_[name], engine);
    return f();
  }

  const std::map<std::string, Row>& rows() const { return rows_; }
  void Print() const {
    std::printf("%-44s %9s %12s %12s %9s\n", "command", "calls", "longest us", "mean us", "cells");
    for (const auto& [name, row] : rows_) {
      std::printf("%-44s %9llu %12.1f %12.2f %9llu\n", name.c_str(), static_cast<unsigned long long>(row.calls),
                  static_cast<double>(row.nanoseconds) / 1000,
                  static_cast<double>(row.total) / 1000 / static_cast<double>(std::max<std::uint64_t>(1, row.calls)),
                  static_cast<unsigned long long>(row.cells));
    }
  }

 private:
  static std::int64_t Nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  std::map<std::string, Row> rows_;
};

}  // namespace testing
}  // namespace allot

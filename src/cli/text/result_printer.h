// SPDX-License-Identifier: Apache-2.0
// Results as they come: one per line, in order of index.
#pragma once

#include <cstdint>
#include <ostream>

#include "allotter/types.h"
#include "cli/text/output.h"

namespace allot::cli {

class ResultPrinter {
 public:
  // Text form: a done task's result as it is, a failed or skipped one's line is empty, and `errors` says which and why.
  // On a terminal without control characters, otherwise to the byte. JSON forms: the protocol's objects; -o id: the
  // indices of done tasks.
  ResultPrinter(std::ostream& out, std::ostream& errors, Format format, Style style)
      : out_(out), errors_(errors), format_(format), style_(style) {}
  void Print(const allotter::TaskResult& result);
  // After the last one.
  void End();

 private:
  std::ostream& out_;
  std::ostream& errors_;
  const Format format_;
  const Style style_;
  bool begun_ = false;
};

}  // namespace allot::cli

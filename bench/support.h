// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: virtual time, results that must be good, and a way to end.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "cli/bench/figures.h"
#include "cli/bench/loop.h"
#include "engine/engine.h"

namespace allot::bench {

inline Now At(std::int64_t ms) { return Now{Instant(std::chrono::milliseconds(ms)), FromMillis(ms)}; }

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) throw Failure(result.error().message);
  return std::move(*result);
}
inline void Must(const Result<void>& result) {
  if (!result.ok()) throw Failure(result.error().message);
}

// What waits to be folded is bounded by the server, and no part of the state.
inline void Fold(Engine& engine) {
  while (engine.HasEffects()) engine.Take();
  while (engine.looks().UnfoldedEvents() > 0) engine.records().Fold(1 << 20);
}

// Prints what `measure(figures)` found, or why it could not, and is the program's exit code.
template <typename F>
int PrintFigures(const char* program, F measure) {
  Figures figures;
  try {
    measure(figures);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", program, failure.what());
    return 1;
  }
  std::string out;
  figures.AppendJson(out);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace allot::bench

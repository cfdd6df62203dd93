// SPDX-License-Identifier: Apache-2.0
// Random strategies, for tests.
#pragma once

#include <string>

#include "base/rng.h"

namespace allot::testing {

// The text of one, over the keys user (u1, u2, …), customer (c1, c2, …), tag (a), async, priority and job. `worker`:
// `worker` is to stand in it, and is false once it does. Without `random`, a given backlog has one answer.
inline std::string SomeStrategy(Rng& rng, int depth, bool& worker, bool random = true) {
  static const char* const kLeaves[] = {"random", "oldest", "newest", "priority", "least_recent"};
  static const char* const kKeys[] = {"user", "customer", "tag", "async", "priority", "job"};
  if (worker && (depth == 0 || rng.Below(4) == 0)) {
    worker = false;
    return "worker";
  }
  if (depth == 0 || rng.Below(4) == 0) return random ? kLeaves[rng.Below(5)] : kLeaves[1 + rng.Below(4)];
  const std::string key = kKeys[rng.Below(rng.Below(2) == 0 ? 2 : 6)];
  switch (rng.Below(5)) {
    case 0: {
      const std::string value = key == "user"       ? (rng.Below(2) == 0 ? "u1" : "u2")
                                : key == "tag"      ? "a"
                                : key == "async"    ? (rng.Below(2) == 0 ? "true" : "false")
                                : key == "priority" ? std::to_string(rng.Below(3))
                                : key == "job"      ? "\"7\""
                                                    : (rng.Below(2) == 0 ? "c1" : "c2");
      return "select_only(" + key + " = " + value + ", " + SomeStrategy(rng, depth - 1, worker, random) + ")";
    }
    case 1:
      return "prefer_distinct(" + key + ", " + std::to_string(1 + rng.Below(3)) + ", " +
             SomeStrategy(rng, depth - 1, worker, random) + ")";
    case 2:
      return "max_simultaneous(" + key + ", " +
             (rng.Below(4) == 0 ? std::to_string(10 + rng.Below(90)) + "%" : std::to_string(1 + rng.Below(4))) + ", " +
             SomeStrategy(rng, depth - 1, worker, random) + ")";
    case 3:
      return "fair(" + key + ", " + SomeStrategy(rng, depth - 1, worker, random) + ")";
    default: {
      // `worker` stands once: in the last branch.
      bool none = false;
      const std::string first = SomeStrategy(rng, depth - 1, none, random);
      return "or_else(" + first + ", " + SomeStrategy(rng, depth - 1, worker, random) + ")";
    }
  }
}

// A text with `worker` in it.
inline std::string SomePolicy(Rng& rng, int depth, bool random = true) {
  for (;;) {
    bool worker = true;
    std::string text = SomeStrategy(rng, depth, worker, random);
    if (!worker) return text;
  }
}

}  // namespace allot::testing

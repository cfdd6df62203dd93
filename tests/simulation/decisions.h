// SPDX-License-Identifier: Apache-2.0
// What a simulated queue decided, as one number: whoever changes how the engine is built, and not what it does, writes
// these down before and after, and compares.
//
//   ALLOT_DECISIONS=FILE  appends a line for each seed that is run: world, seed, grants, hash of all grants in order
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/types.h"

namespace allot::simulation {

// When simulated queues begin, in wall time.
inline constexpr std::int64_t kStart = 1'800'000'000'000;

class Decisions {
 public:
  void Note(const Effects& effects) {
    for (const GrantBatch& given : effects.grant_batches) {
      for (const Grant& grant : given.grants) {
        ++grants_;
        Mix(given.worker.value);
        Mix(grant.task.job.value);
        Mix(grant.task.index);
        Mix(grant.attempt);
        Mix(grant.task.lease.serial);
      }
    }
  }

  void Write(const std::string& world, std::uint64_t seed) const {
    const char* const name = std::getenv("ALLOT_DECISIONS");
    if (name == nullptr) return;
    std::FILE* const file = std::fopen(name, "a");
    if (file == nullptr) return;
    std::fprintf(file, "%s %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", world.c_str(), seed, grants_, hash_);
    std::fclose(file);
  }

 private:
  void Mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ull + (hash_ >> 29); }

  std::uint64_t grants_ = 0, hash_ = 0;
};

}  // namespace allot::simulation

// SPDX-License-Identifier: Apache-2.0
// What a worker could take next, and why not the others: of the jobs with queued tasks that it may not run, the
// condition that fails, those alike together.
//
// The engine takes an OutlookSnapshot in passing (Looks::OutlookOf); the conditions are looked at outside its thread.
// What it would get is a preview with its own strategy (engine/looks/preview_walk.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/types.h"
#include "match/explain.h"

namespace allot {

struct OutlookSnapshot {
  // Jobs alike in class that are not for it.
  struct Class {
    std::uint64_t tasks = 0;  // queued ones
    MatchSnapshot job;        // one of them; the worker is the only one there
  };
  WorkerId worker;
  std::string name;
  StrategyPtr strategy;
  std::uint32_t slots = 1, running = 0;
  bool draining = false, away = false;
  bool queue_paused = false;
  // Those with the most queued tasks, at most kMostClasses; and what else there is.
  std::vector<Class> classes;
  std::uint64_t more_classes = 0, more_tasks = 0;
  static constexpr std::size_t kMostClasses = 64;
};

struct WorkerOther {
  std::string stage;  // as in a funnel; `being_matched`; `others`: not looked at
  std::uint64_t classes = 0, tasks = 0;
  std::optional<JobId> job;  // an example
  std::string message;
};

// By stage, those first that it fails first. `enough`: asked again and again; true ends it.
std::vector<WorkerOther> WhyNotOthers(const OutlookSnapshot& snapshot, const std::function<bool()>& enough);

class PreviewWalk;
// The verdict on what it gets: `can_start`, or what keeps it from getting anything. `walk` is one with its strategy and
// limits.
Reason OutlookVerdict(const OutlookSnapshot& snapshot, const PreviewWalk& walk);

}  // namespace allot

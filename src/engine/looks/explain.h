// SPDX-License-Identifier: Apache-2.0
// Why a job, or one of its tasks, does not run: all that keeps it from running now, whichever stage says so, what
// decides first.
//
// The engine takes a JobSnapshot in passing (PreparedLooks::SnapshotOf); from that everything else follows outside its
// thread: matching looks at every worker and every clause (match/explain.h), and where a job stands among others may
// need a look at all of them (engine/looks/preview_walk.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/looks/views.h"
#include "match/explain.h"
#include "strategy/offer.h"
#include "strategy/preview.h"

namespace allot {

// How a job with queued tasks stands in the order, for the workers that may run it and are neither draining nor away.
struct OrderSnapshot {
  StrategyPtr policy;
  // That most of them have, of those that are given such jobs; with a free slot, if there are any.
  StrategyPtr strategy;
  std::uint32_t workers = 0;      // so many have that one,
  WorkerId like;                  // and this is one of them
  bool like_free = false;         // with a free slot
  std::uint32_t giving = 0;       // workers, with any strategy, that are given such jobs
  std::uint32_t giving_free = 0;  // of these, with a free slot
  std::vector<Ceiling> ceilings;  // where none is given it: what blocks it, whatever the worker
  bool unselected = false;        // where none is given it: strategies that are for others
  WorkerId first_for;             // the next pull of that one, which has a free slot, takes a task of it; 0: of none
  bool asked_all = true;          // false: too many differ, or what comes first for one was not found by a short look
  bool chance = false;            // it may be first: that is left to chance
  bool others_first = false;      // for workers like `like` something else is
  // What comes first for workers like `like`; null where nothing does, or it is the job itself.
  std::optional<JobId> first;
  std::string first_user;
  std::vector<PreviewStep> first_why, own_why;
  // Known after a look at all jobs.
  std::optional<std::uint32_t>
      place;                     // of its first task, from 1; none: behind those that were looked for, or not known
  std::uint32_t looked_for = 0;  // the next tasks among which it was looked for; 0: it was not
  bool complete = true;          // all jobs were looked at
};

// With balanced dispatch: who holds its queued tasks.
struct PromiseSnapshot {
  std::uint32_t tasks = 0, open = 0;
  std::uint32_t workers = 0;
  std::uint32_t busy = 0;  // of these, without a free slot
  WorkerId longest;        // who holds the most
  std::string longest_name;
  std::uint32_t longest_tasks = 0;  // of the job
  std::uint64_t longest_queue = 0;  // of all jobs
};

struct JobSnapshot {
  MatchSnapshot match;
  Instant now{};
  LimitsOnJob limits;
  std::optional<WaitReason> wait_reason;
  std::optional<OrderSnapshot> order;       // none: nothing of it is queued, or no worker may run it
  bool worker_names = true;                 // may the reasons name workers?
  std::optional<PromiseSnapshot> promised;  // none: fanout, or nothing of it is queued
  // Where one task was asked for.
  std::optional<TaskView> task;
  std::string task_worker;  // the name of who runs it
};

// The reasons of matching together with those of limits and order, the gravest first (Gravity() in match/reason.h) and
// of those alike what decides first; never empty. `matching`: how
// many workers may run the job, as far as availability and slots do not count. Where the reasons are of one worker, so
// are the limits, and there is no order.
std::vector<Reason> AllReasons(const JobSnapshot& snapshot, const std::vector<Reason>& of_matching,
                               std::size_t matching);

class PreviewWalk;
// What a finished walk with the strategy of `order.like` tells: the job's place. (PreviewRequest::focus is the job.)
void ApplyWalk(const PreviewWalk& walk, JobId job, OrderSnapshot& order);

}  // namespace allot

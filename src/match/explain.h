// Why a job does not run: how far each worker comes on its way through the conditions of matching, what is missing for
// the nearest one, and what to do about it.
//
// A pure function of a snapshot that the engine takes in passing: it looks at every worker and every clause, so it runs
// outside the engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/job.h"
#include "base/time.h"
#include "match/class_table.h"

namespace allot {

// What the engine knows of a job and its workers at one moment.
struct MatchSnapshot {
  struct Worker {
    WorkerId id;
    std::shared_ptr<const WorkerTraits> traits;
    std::uint32_t slots = 1;
    std::uint32_t leased = 0;
    bool draining = false;
    bool away = false;  // lost its connection: counts as a worker, and may come back
  };
  // A tag of the job: when a worker that had it was there last, if none has it now but one had it since the start.
  struct Tag {
    std::string tag;
    std::optional<WallTime> last_seen;
  };

  // The job, or what would be one.
  std::optional<JobId> job;
  JobState state = JobState::kActive;
  bool queue_paused = false;
  std::uint32_t ready = 0, leased = 0, waiting = 0;  // its tasks
  std::optional<WallTime> scheduled_for;             // while it is scheduled
  std::optional<WallTime> next_retry_at;             // while tasks wait for it
  std::vector<Tag> tags;
  std::vector<Properties> constraints;
  TagList constraint_tags;
  ExprPtr requirements;
  ExprPtr rank;
  std::shared_ptr<const expr::Ad> ad;

  std::vector<Worker> workers;  // all that are registered, in order of id
  WallTime now{};
};

}  // namespace allot

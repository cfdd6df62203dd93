// SPDX-License-Identifier: Apache-2.0
// Why a job does not run: how far each worker comes on its way through the conditions of matching, what is missing for
// the nearest one, and what to do about it.
//
// A pure function of a snapshot that the engine takes in passing: it looks at every worker and every clause, so it runs
// outside the engine thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/job.h"
#include "base/time.h"
#include "match/reason.h"
#include "match/traits.h"

namespace allot {

// What the engine knows of a job and its workers at one moment.
struct MatchSnapshot {
  struct Worker {
    WorkerId id;
    std::shared_ptr<const WorkerTraits> traits;
    std::uint32_t slots = 1;
    std::uint32_t running = 0;
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
  bool unsettled = false;                               // its class waits to be judged, or to be grouped anew
  std::uint32_t queued = 0, running = 0, retrying = 0;  // its tasks
  std::optional<WallTime> scheduled_for;                // while it is scheduled
  std::optional<WallTime> next_retry_at;                // while tasks wait for it
  std::vector<Tag> tags;
  std::vector<Properties> constraints;
  TagList constraint_tags;
  ExprPtr requirements;
  ExprPtr rank;
  std::shared_ptr<const expr::Ad> ad;

  std::vector<Worker> workers;  // all that are registered, in order of id
  // What owns their traits, where the pointers above do not: copying ten thousand of those one by one takes longer than
  // all the rest.
  std::shared_ptr<const void> kept;
  WallTime now{};
};

struct Reason {
  Advice advice = Advice::kWait;
  ReasonCode code = ReasonCode::kCanStart;
  std::string message;                           // one line
  std::string hint;                              // a command, or a further line; empty: none
  std::optional<WallTime> since = std::nullopt;  // when it began, as far as that is known
};

// The stages of the funnel: each counts the workers that passed it and all before it.
enum class Stage : std::uint8_t {
  kTotal,               // registered with the queue
  kAvailable,           // neither draining nor away
  kTags,                //
  kConstraint,          //
  kRequirements,        // the job's, seen from the job
  kWorkerRequirements,  // the worker's own, seen from the worker
  kFreeSlot,            //
};
inline constexpr std::size_t kStages = 7;
std::string_view StageText(Stage stage);  // `worker_requirements`

// Of an expression, or of any other condition (then kTrue or kFalse).
enum class Truth : std::uint8_t { kTrue, kFalse, kUndefined, kError, kNoBoolean };
std::string_view TruthText(Truth outcome);

// What one worker must be, and whether it is.
struct Condition {
  struct Value {
    std::string name;                  // `TARGET.Memory`
    std::optional<std::string> value;  // printed as in expressions; none: it is not there
  };
  Stage stage = Stage::kTags;
  std::string text;  // `gpu`, `mem=high`, `TARGET.Memory >= 4096`
  Truth outcome = Truth::kTrue;
  std::vector<Value> values;  // that decided
  std::string message;        // `TARGET.Memory >= 4096: has 2048`
  bool holds() const { return outcome == Truth::kTrue; }
};

// Something that no worker has, and what is one typo away from it.
struct Suggestion {
  enum class Kind : std::uint8_t { kTag, kProperty, kAttribute, kJobAttribute, kValue };
  Kind kind = Kind::kTag;
  std::string given, nearest;  // words, without quotes
  std::string where;           // the property's key, or the attribute, for values; otherwise empty
  std::string message;         // `no worker has the tag `gup`; did you mean `gpu`?`
};
std::string_view SuggestionText(Suggestion::Kind kind);

struct Explanation {
  struct Tag {
    std::string tag;
    // `never_seen`, `gone`, `unavailable` (all draining or away), `busy`, `free`.
    std::string_view status;
    std::optional<WallTime> last_seen;                 // if it is gone
    std::size_t workers = 0, available = 0, free = 0;  // that have it
  };
  struct Alternative {
    struct Pair {
      std::string key, value;
      std::size_t workers = 0;  // that have it
    };
    std::string tag;
    std::size_t workers = 0;  // that have all of it
    std::vector<Pair> pairs;
  };
  // A clause of requirements. Counts are of the workers that passed all stages before (of all such, draining and away
  // ones too, where none is available).
  struct Clause {
    std::string text;
    std::size_t reached = 0;
    std::size_t failed = 0;                // it is not true for them
    std::size_t undefined = 0, error = 0;  // of those
    std::optional<std::string> best;       // a number that is compared with a constant: the nearest to it that there is
  };
  struct Nearest {
    WorkerId worker;
    std::string name;
    std::vector<Condition> misses;
  };

  std::vector<Reason>
      reasons;  // all that keep it from running now, the gravest first, then the one that decides; never empty
  const Reason& verdict() const { return reasons.front(); }

  std::array<std::size_t, kStages> funnel{};
  std::size_t draining = 0, away = 0;
  std::size_t matching = 0;  // by everything but availability and slots
  std::size_t examined = 0;  // less than all workers where `enough` ended the search
  std::vector<Tag> tags;
  std::vector<Alternative> constraints;
  std::vector<Clause> requirements;         // the first kMaxClausesExplained of them
  std::vector<Clause> worker_requirements;  // those that refused, the most frequent ones first
  std::optional<Nearest> nearest;           // where no available worker matches: the one that fails the fewest things
  std::vector<Suggestion> suggestions;
};

inline constexpr std::size_t kMaxClausesExplained = 64;

struct ExplainOptions {
  // May the reader know what workers are? Otherwise there are counts alone.
  bool show_workers = true;
  // Asked again and again; true ends the search after the worker at hand. Expressions come from strangers.
  std::function<bool()> enough;
};

Explanation Explain(const MatchSnapshot& snapshot, const ExplainOptions& options = {});

struct PairExplanation {
  WorkerId worker;
  std::string name;
  std::vector<Reason> reasons;  // as above, of this worker alone
  const Reason& verdict() const { return reasons.front(); }
  // All of them, by stage. Of several alternatives of the constraint one suffices.
  std::vector<Condition> conditions;
  bool matches = false;  // by everything but availability and slots
  double job_rank = 0, worker_rank = 0;
  std::string job_rank_text, worker_rank_text;  // the expressions; empty: none
};
// None if there is no such worker.
std::optional<PairExplanation> ExplainPair(const MatchSnapshot& snapshot, WorkerId worker);

}  // namespace allot

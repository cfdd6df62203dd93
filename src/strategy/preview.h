// SPDX-License-Identifier: Apache-2.0
// What a strategy would give, and why, found by looking at all jobs for every pick. For whoever tries a strategy that
// nothing has an index for; and for tests, the plain reading of the rules that every index is compared with.
//
// A strategy first says which jobs it may give at all, then of any two of those which comes first, or that it is left
// to chance. So a pick is one look at each job. Each pick is seen by those after it, as grants are.
//
// Use:       Know() every job of the queue, then Next() until it gives none.
// Threading: none of its own; it holds nothing of the jobs that it was told of.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "strategy/index/value_table.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"
#include "strategy/weights.h"

namespace allot {

// A moment in what a preview tells: when something happened.
struct PreviewMoment {
  std::int64_t ms = 0;
  std::uint32_t pick = 0;  // not 0: it is by that pick of the preview, the first being 1
  bool never = false;      // it has not happened: `ms` is when the job that counts instead was submitted
};

// A block that a pick went through, with what it looked at. What its kind does not look at is not there.
struct PreviewStep {
  Strategy::Kind block = Strategy::Kind::kPriority;
  bool own = false;                         // of the worker's own strategy; else of the policy
  StrategyKey key;                          // where the block has one
  GroupText value;                          // that the job has
  std::optional<std::uint64_t> running;     // tasks of that value
  std::optional<std::uint64_t> max;         // in tasks, also where it is a percentage
  std::optional<std::uint64_t> percent;     // of so many
  std::optional<std::uint64_t> slots;       //
  std::optional<std::uint64_t> level;       // prefer_distinct: running / max
  std::optional<std::uint32_t> weight;      // fair
  std::optional<PreviewMoment> served;      // fair
  std::uint32_t branch = 0, branches = 0;   // or_else: which of how many, the first being 1
  std::optional<double> rank;               // worker, if it ranks any job
  std::optional<std::int64_t> priority;     // priority, if the job has one
  std::optional<std::int64_t> scheduled;    // priority
  std::optional<std::int64_t> submitted;    // oldest, newest
  std::optional<PreviewMoment> picked;      // least_recent
  std::optional<std::uint64_t> candidates;  // random: queued tasks, each as likely
  std::string text;                         // all of it, in a sentence
};

struct PreviewPick {
  JobId job;
  std::uint32_t before = 0;  // so many of the job's queued tasks went to earlier picks
  bool random = false;       // any of the job's queued tasks; else the first that is left
  std::vector<PreviewStep> why;
};

// What blocks starts that the strategy does not know of, by groups of jobs: may one more of that group start, after
// those that were taken?
class PreviewGate {
 public:
  virtual ~PreviewGate() = default;
  virtual bool Open(std::uint32_t group) = 0;
  virtual void Take(std::uint32_t group) = 0;
};

class Preview {
 public:
  struct Options {
    StrategyPtr policy;  // null: `worker`
    StrategyPtr worker;  // null: `priority`
    Weights weights = {};
    std::uint64_t slots = 0;  // of all registered workers
    WallTime now{};
    std::uint64_t seed = 1;                  // of `random`
    std::function<bool()> enough = nullptr;  // asked now and then: true ends the picking
    PreviewGate* gate = nullptr;             // asked for groups other than 0; null: nothing is blocked
  };
  explicit Preview(Options options);
  ~Preview();
  Preview(const Preview&) = delete;
  Preview& operator=(const Preview&) = delete;

  // A job is there; ended ones count too. `rank`: the worker may run it, and ranks it so. `memory` knows since when
  // values wait that no job tells of any more. Of its queued tasks `own` stand in the worker's own queue: as long as
  // something may start there, that comes first. `group` is what the gate is asked about.
  void Know(const JobKeys& keys, const PickJob& job, std::optional<double> rank, const ValueTable* memory = nullptr,
            std::uint32_t own = 0, std::uint32_t group = 0);
  // Jobs that have a queued task for this worker, and how many tasks.
  std::uint64_t jobs() const { return jobs_.size(); }
  std::uint64_t tasks() const { return tasks_; }

  // What is kept of them: jobs, and values of keys. About 100 bytes each.
  std::size_t kept() const;
  // How many keys are looked up for every job.
  std::size_t keys() const { return columns_.size(); }
  // Room for so many jobs, so that Know() takes the same time for each.
  void Expect(std::size_t jobs);

  // --- Once all jobs are known.

  // The jobs of which any may come next: none, one, or several where it is left to chance; then `random` is true.
  std::vector<JobId> Allowed(bool& random);
  // The next pick; none if there is none, or if it was `enough`.
  std::optional<PreviewPick> Next();
  bool stopped() const { return stopped_; }
  // Has the gate blocked something from the last pick?
  bool gated() const { return gated_; }

 private:
  using Place = std::uint32_t;  // of a job, or of a cell
  static constexpr Place kNone = 0xFFFFFFFF;
  static constexpr auto kOrders = static_cast<std::size_t>(
      std::count(std::begin(kStrategyShapes), std::end(kStrategyShapes), Strategy::Shape::kOrder));

  struct Job {
    OrderKey key;
    Stamp picked;
    std::int64_t submitted = 0;
    std::uint32_t queued = 0;
    std::uint32_t own = 0;    // of these
    std::uint32_t apart = 0;  // that are not, as long as those come first: then `queued` is without
    std::uint32_t taken = 0;  // by picks
  };
  struct Value {
    std::uint64_t running = 0;
    Stamp served;
    JobId first;  // its first waiting job, and when that was submitted
    std::int64_t first_submitted = 0;
    const std::string* text = nullptr;  // null: jobs without the key
    std::uint32_t weight = 1;
    bool remembered = false;  // was looked up in what is known of values that no job tells of
    Stamp Served() const { return served.serial != 0 || first.value == 0 ? served : Stamp{first_submitted, 0}; }
  };
  // In parts that grow at different times, so that none of them takes long.
  struct Ids {
    Ids();
    std::array<std::unordered_map<std::string, std::uint32_t>, 256> parts;
  };
  // A key that policy or strategy names, or for select_only(tag = …) whether the job has that tag.
  struct Column {
    StrategyKey key;
    std::string tag;
    std::unique_ptr<Ids> ids = std::make_unique<Ids>();
    std::deque<Value> known{1};  // the first: jobs without the key
    std::vector<Value> values;   // the same, once all are
  };
  struct Node {
    const Strategy* block = nullptr;
    bool own = false;
    bool all = false;  // gives any job
    std::size_t column = 0;
    std::uint32_t wanted = 0;  // select_only: the value
    std::uint64_t max = 1;     // in tasks
    std::vector<Node> inner;
  };
  // Jobs alike in rank, group and in all values: only the order at the innermost place tells them apart.
  struct Cell {
    std::uint64_t queued = 0;            // tasks
    std::uint32_t begin = 0, end = 0;    // its jobs, in by_cell_
    std::uint32_t rank = 0;              // in ranks_
    std::uint32_t group = 0;             // for the gate
    std::array<Place, kOrders> first{};  // the job that comes first in each of the orders in use
  };

  Node Compile(const Strategy& strategy, bool own);
  std::size_t ColumnOf(const Strategy& block);
  std::uint32_t Intern(Column& column, const std::string& text) const;

  void Prepare();
  void FindFirst(Cell& cell);
  // In the worker's own queue there is nothing more: all that is queued may come next.
  void LeaveOwn();
  bool Before(Strategy::Kind order, const Job& a, const Job& b) const;

  const Value& ValueOf(const Node& node, Place cell) const {
    return columns_[node.column].values[rows_[cell * width_ + node.column]];
  }
  // May it give the jobs of that cell at all?
  bool Admits(const Node& node, Place cell) const;
  std::size_t BranchOf(const Node& node, Place cell) const;  // the first that does
  // Which of two that it may give comes first: below 0 the first, above 0 the second, 0 left to chance.
  int Compare(const Node& node, Place a, Place b) const;
  // All cells that may come next, and the order at the innermost place there.
  std::vector<Place> First(Strategy::Kind& order);
  std::vector<Place> Look(Strategy::Kind& order);
  Place Draw(const std::vector<Place>& cells, std::uint64_t tasks, Place& cell);
  void Take(Place cell, Place job);
  PreviewMoment Moment(const Stamp& stamp, std::int64_t otherwise) const;
  std::vector<PreviewStep> Why(Place cell, const Job& job, std::uint64_t candidates) const;

  Options options_;
  std::vector<Column> columns_;
  std::size_t width_ = 0;  // of a row: a value for each column, the group, and the rank
  Node root_;
  std::vector<Strategy::Kind> orders_;  // in use
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> rows_;  // by job, then by cell
  std::vector<std::uint32_t> row_;
  std::vector<double> ranks_;
  std::map<double, std::uint32_t> rank_ids_;
  std::uint64_t tasks_ = 0;
  bool own_ = false;  // the worker's own queue comes first, and has something
  bool prepared_ = false;
  std::vector<Cell> cells_;
  std::vector<Place> by_cell_;
  std::uint32_t picks_ = 0;
  bool stopped_ = false, gated_ = false;
  Rng rng_;
};

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// Which limits apply to which starts, and at what cost.
//
// Jobs that look alike to all limits (equal in every attribute that one of them reads) are evaluated once. What comes
// out is a group: the limits that match whatever the worker, each with its cost, and of those that depend on the worker
// what is left of them when the job's attributes are folded in. Jobs for which the same comes out share a group,
// however different they look: ten thousand users under one limit are one group. Of workers, those alike in what limits
// read of them share a profile; the limits that depend on both sides are evaluated once for each group and profile.
//
// A limit is known here by its slot and version: the version is another whenever expr or cost are. What names a version
// that is gone is without meaning, and whoever uses it skips it.
//
// Threading:  confined to the queue's engine thread.
// Invariants: groups without jobs and profiles without workers disappear, apart from group 0, to which nothing applies;
//             no two groups have the same terms. What is kept beyond that is bounded (RecentMemory).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/job.h"
#include "base/sharded_set.h"
#include "expr/expr.h"
#include "limits/bucket.h"
#include "limits/recent_memory.h"

namespace allot {

using GroupId = std::uint32_t;
using LimitProfileId = std::uint32_t;
inline constexpr GroupId kFreeGroup = 0;  // no limit applies

class LimitMatcher {
 public:
  using Slot = std::uint32_t;
  using Version = std::uint32_t;
  using WorkerHandle = std::uint32_t;

  // A limit that applies to a start.
  struct Charge {
    Slot slot = 0;
    Version version = 0;
    Tokens cost;
  };
  // One of which the worker decides.
  struct Term {
    Slot slot = 0;
    Version version = 0;
    ExprPtr expr, cost;                        // with the job's attributes folded in; no cost: 1
    std::shared_ptr<const expr::Ad> job_part;  // of the job, what could not be; mostly null
  };

  LimitMatcher();

  // --- Limits.

  // From now on the slot has these expressions, and that version. Jobs are to be grouped anew.
  Version Put(Slot slot, ExprPtr expr, ExprPtr cost);
  void Remove(Slot slot);
  // Increases when jobs are to be grouped anew: with each Put(). (What is removed matches nothing any more, which no
  // job has to be looked at for.)
  std::uint64_t epoch() const { return epoch_; }
  // Has the cost of some start failed, since Put()?
  bool CostFailed(Slot slot) const { return rules_[slot].cost_failed; }
  // How often one did, of any limit.
  std::uint64_t cost_failures() const { return cost_failures_; }

  // --- Jobs.

  // The group of such a job, with one more member. `ad` is asked only if there are limits.
  GroupId AddJob(const std::function<expr::Ad()>& ad);
  // True: it was the last, and the group is gone.
  bool DropJob(GroupId group);
  // Of the limits that apply whatever the worker. They do not change while there is the group; others may keep them.
  std::span<const Charge> Charges(GroupId group) const { return *groups_[group].charges; }
  std::shared_ptr<const std::vector<Charge>> SharedCharges(GroupId group) const { return groups_[group].charges; }
  std::span<const Term> Terms(GroupId group) const { return groups_[group].terms; }
  bool Live(GroupId group) const { return groups_[group].members > 0; }
  // Tells groups of one id, one after the other, apart.
  std::uint64_t SerialOf(GroupId group) const { return groups_[group].serial; }
  std::size_t groups() const { return group_ids_.size() + 1; }

  // --- Workers.

  WorkerHandle AddWorker(std::shared_ptr<const expr::Ad> ad);
  // Each tells which profile is gone with it, if one is. It stays what it was, under its number, until it is released.
  std::vector<LimitProfileId> ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad);
  std::vector<LimitProfileId> DropWorker(WorkerHandle worker);
  // May be another when limits have come or gone; `gone` is told of the one that it had, if that was its last worker.
  LimitProfileId ProfileOf(WorkerHandle worker, std::vector<LimitProfileId>& gone);
  void ReleaseProfile(LimitProfileId profile) {
    profiles_[profile] = {};
    free_profiles_.push_back(profile);
  }
  // Of the group's terms, those that match the worker. Valid until the next call.
  std::span<const Charge> PairCharges(GroupId group, LimitProfileId profile);
  std::size_t profiles() const { return profile_ids_.size(); }
  // Is another whenever workers are to be told apart otherwise, and so may have other profiles.
  std::uint64_t worker_reads() {
    Refresh();
    return reads_;
  }

  // How often expressions were evaluated or folded, for tests.
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  struct Rule {
    bool live = false;
    Version version = 0;
    ExprPtr expr, cost;
    bool job_only = true;
    bool cost_failed = false;
  };
  struct Group {
    std::string key;
    std::uint32_t members = 0;
    std::uint64_t serial = 0;
    std::shared_ptr<const std::vector<Charge>> charges = NoCharges();
    std::vector<Term> terms;
  };
  struct Profile {
    std::string key;
    std::uint32_t members = 0;
    std::uint64_t serial = 0;
    expr::Ad ad;  // what limits read
  };
  struct Worker {
    std::shared_ptr<const expr::Ad> ad;
    LimitProfileId profile = 0;
    std::uint64_t reads = 0;  // when the profile was found; 0: there is none
  };
  struct Name {
    std::string lower;
    expr::NameHash hash;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Serials {
    std::uint64_t group, profile;
    friend bool operator==(const Serials&, const Serials&) = default;
  };
  struct SerialsHash {
    std::size_t operator()(const Serials& s) const {
      return static_cast<std::size_t>((s.group * 0x9E3779B97F4A7C15ull) ^ (s.profile * 0xC2B2AE3D27D4EB4Full));
    }
  };
  struct Known {
    GroupId group;
    std::uint64_t serial;
  };

  static const std::shared_ptr<const std::vector<Charge>>& NoCharges();
  // Which attributes are read, after limits have come or gone.
  void Refresh();
  Group Evaluate(const expr::Ad& ad);
  Tokens CostOf(Slot slot, const ExprPtr& cost, const expr::Sides& sides);
  void Detach(WorkerHandle worker, std::vector<LimitProfileId>& gone);

  expr::Evaluator evaluator_;
  std::vector<Rule> rules_;  // by slot
  Version last_version_ = 0;
  std::uint64_t epoch_ = 1;
  std::uint64_t reads_ = 1;  // increases when the names change
  bool changed_ = false;
  std::vector<Slot> live_;                      // in order
  std::vector<Name> job_names_, worker_names_;  // in order

  std::deque<Group> groups_;  // of a million none is moved when one more comes
  std::vector<GroupId> free_groups_;
  ShardedSet<GroupId> group_ids_;           // by key
  RecentMemory<std::string, Known> known_;  // by what a job looks like

  std::vector<Worker> workers_;
  std::vector<WorkerHandle> free_workers_;
  std::vector<Profile> profiles_;
  std::vector<LimitProfileId> free_profiles_;
  std::unordered_map<std::string, LimitProfileId> profile_ids_;
  RecentMemory<Serials, std::vector<Charge>, SerialsHash> pairs_;

  std::uint64_t next_serial_ = 1;
  std::uint64_t evaluations_ = 0;
  std::uint64_t cost_failures_ = 0;
};

}  // namespace allot

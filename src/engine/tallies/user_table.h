// SPDX-License-Identifier: Apache-2.0
// How each user fares that has jobs which have not ended, or tasks that run.
//
// Starts a second are of the last minute or so: each start counts less the longer ago it is, by half after 42 s. In the
// first minute of a user they are therefore less than they were.
//
// Threading:  confined to the queue's engine thread.
// Cost:       a change of a job is a few additions; to find a user by name, one hash, when a job comes. About 200 bytes
//             a user, and 264 more once something of it has started.
// Invariants: an entry is there for as long as a job refers to it; totals are exact but for what rounding does to
//             `recent`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/histogram.h"
#include "base/ids.h"
#include "base/time.h"
#include "strategy/weights.h"

namespace allot {

class UserTable {
 public:
  // Starts, each by a weight that grows with time, so that what is old fades without being touched.
  struct Recent {
    double sum = 0;
    std::uint32_t era = 0;  // weights begin anew with each
  };
  struct Entry : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    explicit Entry(std::string_view user) : name(user) {}
    const std::string name;
    std::uint32_t references = 0;            // jobs that refer to it
    std::uint32_t jobs = 0;                  // that have not ended
    std::uint32_t open = 0;                  // of those, that have queued tasks and are neither scheduled nor paused
    std::uint32_t weight = 1;                //
    std::uint64_t queued = 0, retrying = 0;  // tasks of jobs that have not ended, paused and scheduled ones included
    std::uint64_t running = 0, started = 0;  // tasks
    Recent recent;
    // No job of it below this one is open. Kept lazily: it is moved on by whoever looks for the oldest.
    JobId oldest_from;
    std::unique_ptr<TimeHistogram> waited;  // null: nothing was started

    bool active() const { return open > 0 || running > 0; }
    friend bool operator<(const Entry& a, const Entry& b) { return a.name < b.name; }
  };

  UserTable() = default;
  UserTable(const UserTable&) = delete;
  UserTable& operator=(const UserTable&) = delete;
  ~UserTable();

  // By `user.NAME`; others are passed over.
  void SetWeights(const Weights& weights);

  // The user's entry, with one more reference; made if it is not there.
  Entry& Acquire(std::string_view user);
  // One reference less; with the last one it is gone. REQUIRES: nothing of that job is counted any more.
  void Release(Entry& entry);

  // By how much counts of one job have changed; `opened`: 1 or -1 if it has been opened or closed.
  void Count(Entry& entry, std::int64_t queued, std::int64_t retrying, int opened) {
    const bool before = entry.active();
    entry.queued += static_cast<std::uint64_t>(queued);
    entry.retrying += static_cast<std::uint64_t>(retrying);
    entry.open += static_cast<std::uint32_t>(opened);
    if (entry.active() != before) Activate(entry, !before);
  }
  // A task was started, after so long; or ended. In engine time.
  void Started(Entry& entry, Instant now, milliseconds waited);
  void Ended(Entry& entry) {
    --entry.running;
    --running_;
    if (!entry.active()) Activate(entry, false);
  }
  // Found running at the start.
  void Resumed(Entry& entry, std::uint32_t tasks);

  Entry* Find(std::string_view user) const;
  // In order of name, those after `after`: until `visit` says false.
  void ForEach(std::string_view after, const std::function<bool(Entry&)>& visit) const;
  double Rate(const Recent& recent, Instant now) const;

  std::size_t size() const { return by_name_.size(); }
  // Of all that have something open or running. What runs is so of all.
  std::uint64_t active() const { return active_; }
  std::uint64_t weights() const { return active_weights_; }
  std::uint64_t running() const { return running_; }
  const Recent& recent() const { return recent_; }

  std::size_t MemoryBytes() const;

 private:
  void Activate(Entry& entry, bool on);
  // The weight of a start, from now on.
  void Advance(Instant now);
  // What it is in weights of this era.
  double In(const Recent& recent) const;
  std::uint32_t WeightOf(std::string_view user) const;

  boost::unordered_flat_map<std::string_view, std::unique_ptr<Entry>> by_name_;
  mutable boost::intrusive::set<Entry, boost::intrusive::constant_time_size<false>> sorted_;
  Entry* last_ = nullptr;  // that was acquired: the next job is often of the same user
  Weights weights_;
  std::uint64_t active_ = 0, active_weights_ = 0, running_ = 0;
  Recent recent_;  // of those that are active
  Instant era_began_{}, step_until_{};
  bool timed_ = false;
  std::uint32_t era_ = 0;
  double weight_ = 1;  // of a start in this step
};

}  // namespace allot

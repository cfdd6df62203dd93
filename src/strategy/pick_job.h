// SPDX-License-Identifier: Apache-2.0
// A job as strategies see it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "match/class_table.h"
#include "strategy/strategy.h"

namespace allot {

// Priority descending, none last, then scheduled_for, then id: the order `priority`.
struct OrderKey {
  bool no_priority = true;
  std::int64_t priority = 0;
  WallTime scheduled_for{};
  JobId id;
  friend bool operator<(const OrderKey& a, const OrderKey& b) {
    if (a.no_priority != b.no_priority) return b.no_priority;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.scheduled_for != b.scheduled_for) return a.scheduled_for < b.scheduled_for;
    return a.id < b.id;
  }
};

// When something was picked from; grants of one millisecond are told apart by their serial, and which of two was later
// is known by it also when the clock was set back.
struct Stamp {
  std::int64_t ms = 0;
  std::uint64_t serial = 0;  // 0: never
  friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

// Key, class and values may change only while it is not open.
struct PickJob {
  OrderKey key;
  ClassId cls = kNoClass;
  std::uint32_t queued = 0;             // tasks; at least one while it is open
  std::uint32_t running = 0;            // tasks
  std::uint32_t unapplied_returns = 0;  // tasks that were running, and of whose return the orders have still to account
  std::uint32_t slot = 0;               // its place in arrays beside; from Orders::Know() to Forget()
  Stamp picked;                         // the last time
  WallTime submitted_at{};
  // Starts of jobs of one group are blocked, and let go, together: by something that the orders do not know, and of
  // which they ask a StartGate. 0: nothing blocks them.
  std::uint32_t group = 0;
  bool open = false;  // in the orders

  JobId id() const { return key.id; }
  // What `least_recent` goes by.
  Stamp Recent() const { return picked.serial != 0 ? picked : Stamp{ToMillis(submitted_at), 0}; }
  // What it goes by after a pick at that moment: later than before, also when the clock was set back. So whoever noted
  // where the job stood knows that it has not come forward since.
  Stamp RecentAfter(const Stamp& at) const { return {std::max(at.ms, Recent().ms), at.serial}; }
};

// May starts of a group go on?
class StartGate {
 public:
  enum class Blocked : std::uint8_t {
    kNo,
    kHere,        // not for the worker that asks
    kEverywhere,  // for none
  };
  virtual ~StartGate() = default;
  virtual Blocked Ask(std::uint32_t group) = 0;
  // The same, but a group of which it is not certain is looked at: asked where there are many.
  virtual Blocked AskClosely(std::uint32_t group) { return Ask(group); }
};

namespace order {
struct Plan;
}  // namespace order

// How a pick went.
struct PickReport {
  bool unfinished = false;   // it gave up: asked again, it goes on
  bool random_task = false;  // the strategy wants a random task of the job
  std::size_t moved = 0;     // cells that it moved: those that are blocked aside, others to where they belong
  std::size_t asked = 0;     // groups that it asked about, each by itself
  // The leaf of the strategy that gave the job, and, if that is `random`, how many tasks it was drawn from: some of
  // these may be blocked, or of values that are full, and would have been drawn for nothing.
  const order::Plan* leaf = nullptr;
  std::uint64_t candidates = 0;
};

// What a job has under a key, for comparing as `=?=` does: a letter for the type, then the value. None if it has not.
using GroupText = std::optional<std::string>;
class JobKeys {
 public:
  virtual ~JobKeys() = default;
  virtual GroupText Get(const PickJob& job, const StrategyKey& key) const = 0;
  virtual bool HasTag(const PickJob& job, const std::string& tag) const = 0;
};
GroupText TextOf(const MetaValue& value);

}  // namespace allot

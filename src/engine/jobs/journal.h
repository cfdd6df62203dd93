// SPDX-License-Identifier: Apache-2.0
// What leaves the engine: effects of commands, the events among them, and which records have changed since they were
// stored.
//
// Every change of a job, of a page of its tasks or of the queue is an event, and marks its record. Folding hands marked
// records out, oldest first; events before the oldest mark are in records, and the store may forget them.
//
// Threading:  confined to the queue's engine thread.
// Invariants: what is marked is marked once, with the position of its first event that is in no record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/bytes.h"
#include "base/record.h"
#include "engine/jobs/events.h"
#include "engine/jobs/job.h"
#include "engine/types.h"

namespace allot {

// The queue's own record, under an id that no job has.
inline constexpr JobId kQueueRecord{0};

// A page of a job's tasks.
using PageKey = std::pair<std::uint64_t, std::uint32_t>;

class Journal {
 public:
  // An event, whose fields are to follow.
  ByteWriter Event(EventType type) {
    ++effects_.event_count;
    if (std::string& events = effects_.events; events.capacity() - events.size() < kRoom)
      Reserve(events.size() + 2 * kRoom);
    ByteWriter out(effects_.events);
    out.U8(static_cast<std::uint8_t>(type));
    return out;
  }
  // One of a task, whose record it marks, with its further fields. All of it is written in one go: each start and each
  // end has one.
  template <typename... More>
  void TaskEvent(EventType type, EngineJob& job, TaskIndex index, std::uint64_t serial, More... more) {
    MarkTask(job, index);
    ++effects_.event_count;
    char buffer[1 + (3 + sizeof...(More)) * kMaxVarint];
    buffer[0] = static_cast<char>(type);
    char* end = PutVarint(PutVarint(PutVarint(buffer + 1, job.id().value), index), serial);
    ((end = PutVarint(end, static_cast<std::uint64_t>(more))), ...);
    std::string& events = effects_.events;
    if (events.capacity() - events.size() < sizeof(buffer)) Reserve(kTaskRoom);
    events.append(buffer, static_cast<std::size_t>(end - buffer));
  }
  // Room for so many bytes of events.
  void Reserve(std::size_t bytes);

  void MarkJob(EngineJob& job) {
    if (!job.dirty) MarkCleanJob(job);
  }
  void MarkPage(EngineJob& job, std::uint32_t page) {
    if (job.one_page()) return MarkJob(job);
    MarkOnePage(job, page);
  }
  void MarkTask(EngineJob& job, TaskIndex index) { MarkPage(job, PageOf(index)); }
  void MarkQueue();

  // A task of the job ended, or its state changed: said to those who watch it.
  void Progress(EngineJob& job);
  // What else follows from commands.
  Effects& effects() { return effects_; }
  const Effects& effects() const { return effects_; }
  // All since the last time, and the position that its events belong to.
  std::pair<Position, Effects> Take();

  // Of the events to come.
  Position position() const { return position_; }
  // What is in records now.
  Position stored() const { return position_ - 1; }

  // A record that has changed.
  struct Dirty {
    JobId job;
    std::uint32_t page = kJobPage;
    Position since = 0;  // its first event that is in no record
  };
  // The one that did so longest ago; it counts as stored from now on, but for `EngineJob::dirty`.
  std::optional<Dirty> TakeDirty();
  // All events up to here are in records, of which those taken are to be stored.
  Position Floor();
  std::size_t dirty() const { return dirty_.size(); }
  // Events that are not below the floor.
  std::uint64_t Unfolded() const { return events_total_ - events_at_floor_; }

  // While loading: a record that has the events up to that position; events of a position that begins, and ends.
  void Loaded(Position stored) { position_ = std::max(position_, stored + 1); }
  void BeginReplay(Position position) { position_ = position; }
  void EndReplay(std::uint64_t events);

 private:
  static constexpr std::size_t kRoom = 4096;     // for one event, whatever it is
  static constexpr std::size_t kTaskRoom = 960;  // for some events of tasks: what the allocator has at hand

  void MarkCleanJob(EngineJob& job);
  void MarkOnePage(EngineJob& job, std::uint32_t page);

  Effects effects_;
  Position position_ = 1;
  std::deque<Dirty> dirty_;
  boost::unordered_flat_set<PageKey> dirty_pages_;  // of jobs of several pages
  bool queue_dirty_ = false;
  std::deque<std::pair<Position, std::uint64_t>> event_totals_;  // position and events up to it, above the floor
  std::uint64_t events_total_ = 0;
  std::uint64_t events_at_floor_ = 0;
};

}  // namespace allot

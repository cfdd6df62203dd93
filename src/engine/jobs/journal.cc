// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/journal.h"

#include "base/memory_pool.h"

namespace allot {

void Journal::Reserve(std::size_t bytes) {
  if (effects_.events.capacity() - effects_.events.size() >= bytes) return;
  MemoryPool::Scope none(nullptr);  // they leave the engine
  effects_.events.reserve(effects_.events.size() + bytes);
}

void Journal::MarkCleanJob(EngineJob& job) {
  job.dirty = true;
  dirty_.push_back(Dirty{job.id(), kJobPage, position_});
}

void Journal::MarkOnePage(EngineJob& job, std::uint32_t page) {
  if (dirty_pages_.insert(PageKey{job.id().value, page}).second) {
    dirty_.push_back(Dirty{job.id(), page, position_});
  }
}

void Journal::MarkQueue() {
  if (queue_dirty_) return;
  queue_dirty_ = true;
  dirty_.push_back(Dirty{kQueueRecord, kJobPage, position_});
}

void Journal::Progress(EngineJob& job) {
  if (!job.course || job.course->watchers == 0 || job.progressed) return;
  job.progressed = true;
  effects_.progressed.push_back(job.id());
}

std::pair<Position, Effects> Journal::Take() {
  const Position position = position_;
  if (!effects_.events.empty()) {
    ++position_;
    events_total_ += effects_.event_count;
    event_totals_.emplace_back(position, events_total_);
  }
  std::pair<Position, Effects> taken(position, std::move(effects_));
  effects_.events.clear();
  effects_.event_count = 0;
  return taken;
}

std::optional<Journal::Dirty> Journal::TakeDirty() {
  if (dirty_.empty()) return std::nullopt;
  const Dirty next = dirty_.front();
  dirty_.pop_front();
  if (next.job == kQueueRecord) {
    queue_dirty_ = false;
  } else if (next.page != kJobPage) {
    dirty_pages_.erase(PageKey{next.job.value, next.page});
  }
  return next;
}

Position Journal::Floor() {
  const Position floor = dirty_.empty() ? position_ - 1 : dirty_.front().since - 1;
  while (!event_totals_.empty() && event_totals_.front().first <= floor) {
    events_at_floor_ = event_totals_.front().second;
    event_totals_.pop_front();
  }
  return floor;
}

void Journal::EndReplay(std::uint64_t events) {
  events_total_ += events;
  event_totals_.emplace_back(position_, events_total_);
  ++position_;
}

}  // namespace allot

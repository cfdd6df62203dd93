// SPDX-License-Identifier: Apache-2.0
// How the tasks of a job stand over the range of their indices.
#include <algorithm>

#include "backlog/job_tasks.h"
#include "backlog/job_tasks_parts.h"
#include "base/check.h"

namespace allot {
namespace {

// What it costs to count the bits of a page; besides, where some wait, for each due time and each of them, and where
// some have failed.
constexpr std::uint64_t kPageNanoseconds = 4000;
constexpr std::uint64_t kSetNanoseconds = 50;
constexpr std::uint64_t kMemberNanoseconds = 8;
constexpr std::uint64_t kFailedNanoseconds = 2000;
// Beyond that, whole pages are told of.
constexpr std::uint64_t kMostNanoseconds = 500'000;

}  // namespace

void JobTasks::CountQueuedDone(std::uint32_t page) {
  if (single()) return;
  Table::PageCounts& counts = store_.table->counts[page];
  const Slot slot = store_.table->slots[page];
  if (slot > kAllDone) {
    const auto* bits = reinterpret_cast<const Page*>(slot);
    counts.queued = bits->queued;
    counts.done = bits->done;
    return;
  }
  const auto tasks = static_cast<std::uint16_t>(TasksOf(page));
  counts.queued = slot == kUntouched ? tasks : 0;
  counts.done = slot == kUntouched ? 0 : tasks;
}

void JobTasks::CountRare(std::uint32_t page, std::int32_t retrying, std::int32_t failed) {
  if (single() || (retrying == 0 && failed == 0)) return;
  Table::PageCounts& counts = store_.table->counts[page];
  counts.retrying = static_cast<std::uint16_t>(counts.retrying + retrying);
  counts.failed = static_cast<std::uint16_t>(counts.failed + failed);
}

JobTasks::Counts JobTasks::CountsOf(std::uint32_t page) const {
  if (single()) return {queued_, out(), retrying(), done_, failed()};
  const std::uint32_t tasks = TasksOf(page);
  if (store_.table == nullptr) return queued_ == count_ ? Counts{tasks, 0, 0, 0, 0} : Counts{0, 0, 0, tasks, 0};
  const Table::PageCounts& counts = store_.table->counts[page];
  return {counts.queued, tasks - counts.queued - counts.retrying - counts.done - counts.failed, counts.retrying,
          counts.done, counts.failed};
}

void JobTasks::CountBitsInto(const Parts& into, TaskIndex from, TaskIndex to, Counts* counts) const {
  const std::uint32_t page = PageOf(from);
  const Counts all = CountsOf(page);
  const TaskIndex first = page * kPageTasks;
  PageBits copy[2];
  const std::uint64_t* queued = nullptr;
  const std::uint64_t* done = nullptr;
  const std::uint32_t tasks = TasksOf(page);
  if (all.queued < tasks && all.done < tasks) {
    const Slot slot = small() ? kUntouched : SlotOf(page);
    if (slot > kAllDone) {
      const auto* bits = reinterpret_cast<const Page*>(slot);
      queued = bits->queued_words();
      done = bits->done_words();
    } else {
      CopyBits(page, copy[0], copy[1]);
      queued = copy[0].data();
      done = copy[1].data();
    }
  }
  PageBits failed, retrying;
  if (all.failed > 0) {
    failed.fill(0);
    rare_->failed.OrPageInto(page, failed);
  }
  if (all.retrying > 0) {
    retrying.fill(0);
    for (const auto& [batch, set] : rare_->retrying) set.OrPageInto(page, retrying);
  }
  while (from < to) {
    const std::uint32_t part = (from - into.from) / into.width;
    const auto end = static_cast<TaskIndex>(
        std::min<std::uint64_t>(to, std::uint64_t{into.from} + std::uint64_t{part + 1} * into.width));
    const std::uint32_t lo = from - first, hi = end - first;
    const auto count = [&](std::uint32_t n, const std::uint64_t* words) -> std::uint32_t {
      return n == 0 ? 0 : n == tasks ? hi - lo : CountBitsIn(words, lo, hi);
    };
    Counts here;
    here.queued = count(all.queued, queued);
    here.done = count(all.done, done);
    here.failed = count(all.failed, failed.data());
    here.retrying = count(all.retrying, retrying.data());
    here.out = hi - lo - here.queued - here.done - here.failed - here.retrying;
    Counts& sum = counts[part];
    sum.queued += here.queued;
    sum.out += here.out;
    sum.retrying += here.retrying;
    sum.done += here.done;
    sum.failed += here.failed;
    from = end;
  }
}

JobTasks::Parts JobTasks::Picture(TaskIndex from, TaskIndex to, std::size_t parts) const {
  CHECK(from <= to && to <= count_ && parts > 0);
  Parts out{from, to, 1, {}};
  if (from == to) return out;
  const auto divide = [](std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; };
  const std::uint32_t first = PageOf(from), last = PageOf(to - 1);
  const std::uint32_t pages = last - first + 1;
  std::uint64_t width = divide(to - from, parts);
  bool whole = width > kPageTasks;
  std::uint64_t nanoseconds = 0;
  for (std::uint32_t page = first; page <= last && !whole; ++page) {
    const Counts here = CountsOf(page);
    nanoseconds += kPageNanoseconds;
    if (here.failed > 0) nanoseconds += kFailedNanoseconds;
    if (here.retrying > 0) nanoseconds += kSetNanoseconds * rare_->retrying.size() + kMemberNanoseconds * here.retrying;
    whole = nanoseconds > kMostNanoseconds;
  }
  if (!whole) {
    out.width = static_cast<std::uint32_t>(width);
    out.parts.resize(divide(to - from, width));
    for (std::uint32_t page = first; page <= last; ++page) {
      const TaskIndex begin = page * kPageTasks;
      CountBitsInto(out, std::max(from, begin), page == last ? to : begin + kPageTasks, out.parts.data());
    }
    return out;
  }
  const std::uint64_t per_part = divide(pages, parts);
  out.from = first * kPageTasks;
  out.to = static_cast<TaskIndex>(std::min<std::uint64_t>(count_, (std::uint64_t{last} + 1) * kPageTasks));
  out.width = static_cast<std::uint32_t>(std::min<std::uint64_t>(per_part * kPageTasks, out.to - out.from));
  out.parts.resize(divide(pages, per_part));
  for (std::uint32_t page = first, part = 0; page <= last; ++part) {
    Counts& sum = out.parts[part];
    for (std::uint64_t i = 0; i < per_part && page <= last; ++i, ++page) {
      const Counts here = CountsOf(page);
      sum.queued += here.queued;
      sum.out += here.out;
      sum.retrying += here.retrying;
      sum.done += here.done;
      sum.failed += here.failed;
    }
  }
  return out;
}

}  // namespace allot

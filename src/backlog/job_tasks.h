// The state of every task of one job.
//
// A task is ready, out (leased: by whom is dispatch's business), waiting (for a retry, until a due time), done or failed.
// Besides, every task that is not done or failed has a number of attempts used (0 for most).
//
// Cost:       a job of up to 64 tasks: no heap at all while nothing failed. Above: one pointer per page of 32,768 tasks, once any
//             task was touched; per touched page one ready bit and one done bit a task, the last page no larger than
//             its tasks; nothing for a page that is untouched, or all done. Waiting tasks: at most 2 bytes each, a bit each
//             when many share a due time. An untouched job has no heap memory whatever its count.
// Invariants: ready() + out() + waiting() + done() + failed() == count(), always; counts are O(1).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backlog/task_set.h"
#include "base/bytes.h"
#include "base/job.h"
#include "base/time.h"

namespace allot {

class JobTasks {
 public:
  explicit JobTasks(std::uint32_t count);
  JobTasks(JobTasks&&) noexcept;
  JobTasks& operator=(JobTasks&&) noexcept;
  ~JobTasks();

  std::uint32_t count() const;
  std::uint32_t ready() const;
  std::uint32_t out() const;
  std::uint32_t waiting() const;
  std::uint32_t done() const;
  std::uint32_t failed() const;

  // kReady, kLeased (for out), kWaiting, kDone, kFailed. REQUIRES: index < count(), here and below.
  TaskState State(TaskIndex index) const;
  // Attempts that were used up by a task that is ready or waiting; 0 for others.
  std::uint32_t AttemptsUsed(TaskIndex index) const;
  // The lowest ready task at or after `from`. O(1) amortised from 0, never linear in pages without ready tasks.
  std::optional<TaskIndex> FirstReady(TaskIndex from = 0) const;
  // The lowest task at or after `from` in that state. For lists: may look at every page after `from`.
  std::optional<TaskIndex> FirstInState(TaskState state, TaskIndex from) const;

  // ready → out. Returns the attempts used before. REQUIRES: ready.
  std::uint32_t Claim(TaskIndex index);
  // out → ready, with that many attempts used. REQUIRES: out.
  void Release(TaskIndex index, std::uint32_t attempts_used);
  // out → waiting until `due`. REQUIRES: out, attempts_used ≥ 1.
  void Wait(TaskIndex index, std::uint32_t attempts_used, WallTime due);
  // out, ready or waiting → done. REQUIRES: one of these.
  void Finish(TaskIndex index);
  // out → failed for good. REQUIRES: out.
  void Fail(TaskIndex index);

  // The earliest due time of a waiting task.
  std::optional<WallTime> NextDue() const;
  // waiting → ready for tasks due at or before `now`, a page of one due time at a time, at most `max_pages` of them.
  // Returns how many tasks became ready, and calls `changed` with each page; NextDue() tells whether there is more.
  std::uint32_t ReleaseDue(WallTime now, std::size_t max_pages, const std::function<void(std::uint32_t page)>& changed);

  // For `retry`: whatever is waiting or failed in this page becomes ready with no attempts used; out and done stay.
  // Returns how many tasks became ready that were not before.
  std::uint32_t RevivePage(std::uint32_t page);

  // Pages, for records and steps. A job of up to kPageTasks tasks has one.
  std::uint32_t pages() const;
  // True if every task of the page is ready with no attempts used: nothing to save, nothing in memory.
  bool Untouched(std::uint32_t page) const;
  // The page's done, failed, waiting and attempts; ready and out are not told apart (both are "the others"): the
  // engine adds its leases itself.
  void SavePage(std::uint32_t page, ByteWriter& out) const;
  // Replaces an untouched page by a saved one; all others become ready. False, changing nothing, on bytes that
  // SavePage did not write.
  bool LoadPage(std::uint32_t page, ByteReader& in);

  // Heap bytes in use, allocator's overhead not counted.
  std::size_t MemoryBytes() const;

 private:
  // TO BE DESIGNED by the implementation. sizeof(JobTasks) ≤ 64.
};

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// The state of every task of one job.
//
// A task is queued, out (running: by whom is dispatch's business), retrying (for a retry, until a due time), done or
// failed. Besides, every task that is not done or failed has a number of attempts used (0 for most).
//
// Cost:       a job of up to 64 tasks: no heap at all while nothing failed. Above: 16 bytes per page of 32,768 tasks,
//             once any task was touched; per touched page one queued bit and one done bit a task, the last page no
//             larger than its tasks; nothing for a page whose tasks are all queued, or all done. Retrying tasks: at
//             most 2 bytes each, a bit each when many share a due time. An untouched job has no heap memory whatever
//             its count.
// Invariants: queued() + out() + retrying() + done() + failed() == count(), always; counts are O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backlog/page_bits.h"
#include "backlog/task_set.h"
#include "base/bytes.h"
#include "base/job.h"
#include "base/rng.h"
#include "base/time.h"

namespace allot {

class JobTasks {
 public:
  explicit JobTasks(std::uint32_t count);
  JobTasks(JobTasks&&) noexcept;
  JobTasks& operator=(JobTasks&&) noexcept;
  ~JobTasks();

  std::uint32_t count() const;
  std::uint32_t queued() const;
  std::uint32_t out() const;
  std::uint32_t retrying() const;
  std::uint32_t done() const;
  std::uint32_t failed() const;

  // Looks into every due time of the job if the task is neither queued, done nor failed.
  // kQueued, kRunning (for out), kRetrying, kDone, kFailed. REQUIRES: index < count(), here and below.
  TaskState State(TaskIndex index) const;
  // Attempts that were used up by a task that is queued or retrying; 0 for others.
  std::uint32_t AttemptsUsed(TaskIndex index) const;
  // When a retrying task is due; none for others.
  std::optional<WallTime> DueOf(TaskIndex index) const;
  // The tasks of a page that are done, and those that failed for good. False, at once, where these are no more than
  // `known`.
  bool EndsOf(std::uint32_t page, std::uint32_t known, PageBits& done, PageBits& failed) const;
  // The lowest queued task at or after `from`. O(1) amortised from 0, never linear in pages without queued tasks.
  std::optional<TaskIndex> FirstQueued(TaskIndex from = 0) const;
  // Any queued task, each as likely as the others. Constant time, but linear in pages with queued tasks when less than
  // a few in a hundred are queued. REQUIRES: queued() > 0.
  TaskIndex RandomQueued(Rng& rng) const;
  // The lowest task at or after `from` in that state. For lists: may look at every page after `from`.
  std::optional<TaskIndex> FirstInState(TaskState state, TaskIndex from) const;

  // How the tasks of a stretch stand.
  struct Counts {
    std::uint32_t queued = 0, out = 0, retrying = 0, done = 0, failed = 0;
  };
  struct Parts {
    TaskIndex from = 0, to = 0;
    std::uint32_t width = 1;
    std::vector<Counts> parts;  // of so many tasks each; the last may have fewer
  };
  // The tasks from `from` to before `to` in at most `parts` parts. Where parts would be wider than a page, or bits too
  // many to count, the parts are of whole pages: fewer than asked for, and the range is widened to the pages that it
  // touches. At most about a millisecond, whatever the job's size and state. REQUIRES: from ≤ to ≤ count(), parts ≥ 1.
  Parts Picture(TaskIndex from, TaskIndex to, std::size_t parts) const;

  // queued → out. Returns the attempts used before. REQUIRES: queued.
  std::uint32_t Claim(TaskIndex index);
  // out → queued, with that many attempts used. REQUIRES: out.
  void Release(TaskIndex index, std::uint32_t attempts_used);
  // out → retrying until `due`. REQUIRES: out, attempts_used ≥ 1.
  void Wait(TaskIndex index, std::uint32_t attempts_used, WallTime due);
  // retrying → queued, its due time or not, with the attempts that it had used. REQUIRES: retrying.
  void Promote(TaskIndex index);
  // out, queued or retrying → done. REQUIRES: one of these.
  // Looks into every due time of the job unless the task is queued: where it is known to be out, use FinishOut.
  void Finish(TaskIndex index);
  // out → done. REQUIRES: out.
  void FinishOut(TaskIndex index);
  // out → failed for good. REQUIRES: out.
  void Fail(TaskIndex index);

  // The earliest due time of a retrying task.
  std::optional<WallTime> NextDue() const;
  // retrying → queued for tasks due at or before `now`, a page of one due time at a time, at most `max_pages` of them.
  // Returns how many tasks became queued, and calls `changed` with each page; NextDue() tells whether there is more.
  // `changed` must not change the job.
  std::uint32_t ReleaseDue(WallTime now, std::size_t max_pages, const std::function<void(std::uint32_t page)>& changed);

  // For `retry`: whatever is queued, retrying or failed in this page becomes queued with no attempts used; out and done
  // stay. Returns how many tasks became queued that were not before.
  std::uint32_t RevivePage(std::uint32_t page);

  // Pages, for records and steps. A job of up to kPageTasks tasks has one, an empty job none.
  std::uint32_t pages() const;
  // True if every task of the page is queued with no attempts used: nothing to save, nothing in memory.
  bool Untouched(std::uint32_t page) const;
  // The page's done, failed, retrying and attempts; queued and out are not told apart (both are "the others"): the
  // engine adds its leases itself.
  // Changing it: the bytes are persisted. Sets are written by WriteBits; a new part needs a new flag of the first byte.
  void SavePage(std::uint32_t page, ByteWriter& out) const;
  // Replaces an untouched page by a saved one; all others become queued. False, changing nothing, on bytes that
  // SavePage did not write, on a page that is not untouched, and on one that the job does not have.
  bool LoadPage(std::uint32_t page, ByteReader& in);

  // Heap bytes in use, allocator's overhead not counted.
  std::size_t MemoryBytes() const;

 private:
  struct Page;
  struct Table;
  struct Rare;

  // A page's place: kUntouched (all its tasks are queued), kAllDone, or a Page* that is neither.
  using Slot = std::uintptr_t;
  static constexpr Slot kUntouched = 0;
  static constexpr Slot kAllDone = 1;

  bool small() const { return count_ <= 64; }
  bool single() const { return count_ <= kPageTasks; }  // and not small
  std::uint32_t TasksOf(std::uint32_t page) const;

  Slot SlotOf(std::uint32_t page) const;
  // The page's bits, made if it was untouched. REQUIRES: not all done, not small.
  Page& Open(std::uint32_t page);
  // Frees the page's bits.
  void Close(std::uint32_t page, Slot as);
  Slot& MutableSlot(std::uint32_t page);
  // Tells the tree over the pages whether one has queued tasks.
  void NoteQueued(std::uint32_t page, bool any);
  // Of a job of several pages: keeps the counts of all pages side by side.
  void CountQueuedDone(std::uint32_t page);
  void CountRare(std::uint32_t page, std::int32_t retrying, std::int32_t failed);
  Counts CountsOf(std::uint32_t page) const;
  // Of the tasks from `from` to before `to`, adds to counts[(i - first) / width] for each task i.
  void CountBitsInto(const Parts& into, TaskIndex from, TaskIndex to, Counts* counts) const;
  void FreeBits();

  bool IsQueued(TaskIndex index) const;
  bool IsDone(TaskIndex index) const;
  void SetQueued(TaskIndex index);
  void SetQueued(std::uint32_t page, const PageBits& bits, std::uint32_t n);
  void ClearQueued(TaskIndex index);
  void SetDone(TaskIndex index);
  void CopyBits(std::uint32_t page, PageBits& queued, PageBits& done) const;
  // The tasks of a page that are neither queued, done, failed nor retrying.
  PageBits OutBits(std::uint32_t page) const;
  std::optional<TaskIndex> FirstDone(TaskIndex from) const;
  std::optional<TaskIndex> FirstOut(TaskIndex from) const;
  std::optional<TaskIndex> FirstRetrying(TaskIndex from) const;

  Rare& MakeRare();
  void DropRareIfEmpty();
  // Forgets the attempts of a queued task, and returns them.
  std::uint32_t TakeAttempts(TaskIndex index);
  bool TakeRetrying(TaskIndex index);

  std::uint32_t count_;
  std::uint32_t queued_;
  std::uint32_t done_ = 0;
  std::uint32_t failed_ = 0;
  std::uint32_t retrying_ = 0;
  union {
    struct {
      std::uint64_t queued;
      std::uint64_t done;
    } bits;        // small()
    Slot slot;     // single()
    Table* table;  // else; none while all tasks are queued, or done
  } store_;
  std::unique_ptr<Rare> rare_;  // what few jobs have: failed and retrying tasks, attempts
};
static_assert(sizeof(JobTasks) <= 64);

}  // namespace allot

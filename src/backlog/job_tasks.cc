// SPDX-License-Identifier: Apache-2.0
#include "backlog/job_tasks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backlog/job_tasks_parts.h"
#include "base/check.h"

namespace allot {

JobTasks::JobTasks(std::uint32_t count) : count_(count), queued_(count), store_{{0, 0}} {
  if (small()) SetPrefix(&store_.bits.queued, count);
}

JobTasks::JobTasks(JobTasks&& other) noexcept
    : count_(std::exchange(other.count_, 0)),
      queued_(std::exchange(other.queued_, 0)),
      done_(std::exchange(other.done_, 0)),
      failed_(std::exchange(other.failed_, 0)),
      retrying_(std::exchange(other.retrying_, 0)),
      store_(other.store_),
      rare_(std::move(other.rare_)) {
  other.store_.bits = {0, 0};
}

JobTasks& JobTasks::operator=(JobTasks&& other) noexcept {
  if (this == &other) return *this;
  FreeBits();
  count_ = std::exchange(other.count_, 0);
  queued_ = std::exchange(other.queued_, 0);
  done_ = std::exchange(other.done_, 0);
  failed_ = std::exchange(other.failed_, 0);
  retrying_ = std::exchange(other.retrying_, 0);
  store_ = other.store_;
  other.store_.bits = {0, 0};
  rare_ = std::move(other.rare_);
  return *this;
}

JobTasks::~JobTasks() { FreeBits(); }

void JobTasks::FreeBits() {
  if (small()) return;
  if (single()) {
    if (store_.slot > kAllDone) Page::Free(reinterpret_cast<Page*>(store_.slot));
    store_.slot = kUntouched;
    return;
  }
  if (store_.table == nullptr) return;
  if (store_.table->page_bytes > 0) {
    for (std::uint32_t page = 0; page < pages(); ++page) {
      const Slot slot = store_.table->slots[page];
      if (slot > kAllDone) Page::Free(reinterpret_cast<Page*>(slot));
    }
  }
  delete store_.table;
  store_.table = nullptr;
}

std::uint32_t JobTasks::count() const { return count_; }
std::uint32_t JobTasks::queued() const { return queued_; }
std::uint32_t JobTasks::out() const { return count_ - queued_ - retrying_ - done_ - failed_; }
std::uint32_t JobTasks::retrying() const { return retrying_; }
std::uint32_t JobTasks::done() const { return done_; }
std::uint32_t JobTasks::failed() const { return failed_; }
std::uint32_t JobTasks::pages() const { return count_ == 0 ? 0 : PageOf(count_ - 1) + 1; }

std::uint32_t JobTasks::TasksOf(std::uint32_t page) const { return std::min(count_ - page * kPageTasks, kPageTasks); }

JobTasks::Slot JobTasks::SlotOf(std::uint32_t page) const {
  if (single()) return store_.slot;
  if (store_.table == nullptr) return queued_ == count_ ? kUntouched : kAllDone;
  return store_.table->slots[page];
}

JobTasks::Slot& JobTasks::MutableSlot(std::uint32_t page) {
  if (single()) return store_.slot;
  if (store_.table == nullptr) store_.table = new Table(*this);
  return store_.table->slots[page];
}

JobTasks::Page& JobTasks::Open(std::uint32_t page) {
  Slot& slot = MutableSlot(page);
  CHECK(slot != kAllDone);
  if (slot == kUntouched) {
    slot = reinterpret_cast<Slot>(Page::Make(TasksOf(page)));
    if (!single()) store_.table->page_bytes += Page::BytesFor(TasksOf(page));
  }
  return *reinterpret_cast<Page*>(slot);
}

void JobTasks::Close(std::uint32_t page, Slot as) {
  Slot& slot = MutableSlot(page);
  if (slot > kAllDone) {
    Page::Free(reinterpret_cast<Page*>(slot));
    if (!single()) store_.table->page_bytes -= Page::BytesFor(TasksOf(page));
  }
  slot = as;
}

void JobTasks::NoteQueued(std::uint32_t page, bool any) {
  if (single()) return;
  if (any) {
    store_.table->with_queued.Set(page);
  } else {
    store_.table->with_queued.Clear(page);
  }
}

bool JobTasks::IsQueued(TaskIndex index) const {
  CHECK(index < count_);
  if (small()) return TestBit(&store_.bits.queued, index);
  const Slot slot = SlotOf(PageOf(index));
  if (slot <= kAllDone) return slot == kUntouched;
  return TestBit(reinterpret_cast<const Page*>(slot)->queued_words(), index % kPageTasks);
}

bool JobTasks::IsDone(TaskIndex index) const {
  CHECK(index < count_);
  if (small()) return TestBit(&store_.bits.done, index);
  const Slot slot = SlotOf(PageOf(index));
  if (slot <= kAllDone) return slot == kAllDone;
  return TestBit(reinterpret_cast<const Page*>(slot)->done_words(), index % kPageTasks);
}

void JobTasks::SetQueued(TaskIndex index) {
  if (small()) {
    SetBit(&store_.bits.queued, index);
  } else {
    Page& page = Open(PageOf(index));
    if (page.queued == 0) NoteQueued(PageOf(index), true);
    page.SetQueued(index % kPageTasks);
    if (page.queued == page.tasks) Close(PageOf(index), kUntouched);
    CountQueuedDone(PageOf(index));
  }
  ++queued_;
}

void JobTasks::SetQueued(std::uint32_t page_number, const PageBits& bits, std::uint32_t n) {
  if (n == 0) return;
  if (small()) {
    store_.bits.queued |= bits[0];
  } else {
    Page& page = Open(page_number);
    if (page.queued == 0) NoteQueued(page_number, true);
    std::uint64_t* words = page.queued_words();
    for (std::uint32_t w = 0; w < page.words(); ++w) {
      words[w] |= bits[w];
      if (words[w] != 0) SetBit(page.summary(), w);
    }
    page.queued = static_cast<std::uint16_t>(page.queued + n);
    if (page.queued == page.tasks) Close(page_number, kUntouched);
    CountQueuedDone(page_number);
  }
  queued_ += n;
}

void JobTasks::ClearQueued(TaskIndex index) {
  if (small()) {
    ClearBit(&store_.bits.queued, index);
  } else {
    Page& page = Open(PageOf(index));
    page.ClearQueued(index % kPageTasks);
    if (page.queued == 0) NoteQueued(PageOf(index), false);
    CountQueuedDone(PageOf(index));
  }
  --queued_;
}

void JobTasks::SetDone(TaskIndex index) {
  ++done_;
  if (small()) {
    SetBit(&store_.bits.done, index);
    return;
  }
  Page& page = Open(PageOf(index));
  page.SetDone(index % kPageTasks);
  if (page.done == page.tasks) Close(PageOf(index), kAllDone);
  CountQueuedDone(PageOf(index));
  if (done_ == count_ && !single()) FreeBits();
}

JobTasks::Rare& JobTasks::MakeRare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

void JobTasks::DropRareIfEmpty() {
  if (rare_ != nullptr && rare_->failed.empty() && rare_->retrying.empty() && rare_->by_attempts.empty()) rare_.reset();
}

TaskState JobTasks::State(TaskIndex index) const {
  if (IsQueued(index)) return TaskState::kQueued;
  if (IsDone(index)) return TaskState::kDone;
  if (rare_ != nullptr) {
    if (rare_->failed.Contains(index)) return TaskState::kFailed;
    for (const auto& [batch, set] : rare_->retrying) {
      if (set.Contains(index)) return TaskState::kRetrying;
    }
  }
  return TaskState::kRunning;
}

std::uint32_t JobTasks::AttemptsUsed(TaskIndex index) const {
  CHECK(index < count_);
  if (rare_ == nullptr) return 0;
  for (const auto& [attempts, set] : rare_->by_attempts) {
    if (set.Contains(index)) return attempts;
  }
  for (const auto& [batch, set] : rare_->retrying) {
    if (set.Contains(index)) return batch.attempts;
  }
  return 0;
}

std::optional<WallTime> JobTasks::DueOf(TaskIndex index) const {
  CHECK(index < count_);
  if (rare_ == nullptr) return std::nullopt;
  for (const auto& [batch, set] : rare_->retrying) {
    if (set.Contains(index)) return batch.due;
  }
  return std::nullopt;
}

bool JobTasks::EndsOf(std::uint32_t page, std::uint32_t known, PageBits& done, PageBits& failed) const {
  const Counts counts = CountsOf(page);
  if (counts.done + counts.failed <= known) return false;
  PageBits queued;
  CopyBits(page, queued, done);
  failed.fill(0);
  if (counts.failed > 0) rare_->failed.OrPageInto(page, failed);
  return true;
}

std::optional<TaskIndex> JobTasks::FirstQueued(TaskIndex from) const {
  if (from >= count_ || queued_ == 0) return std::nullopt;
  if (small()) {
    const std::uint32_t found = FirstSet(&store_.bits.queued, 1, from);
    return found < 64 ? std::optional(found) : std::nullopt;
  }
  std::uint32_t page = PageOf(from);
  Slot slot = SlotOf(page);
  if (slot == kUntouched) return from;
  if (slot != kAllDone) {
    const std::uint32_t found = reinterpret_cast<const Page*>(slot)->FirstQueued(from % kPageTasks);
    if (found < kPageTasks) return page * kPageTasks + found;
  }
  if (single()) return std::nullopt;
  // The table is there: a job without one is all queued, or has nothing queued.
  const std::optional<std::uint32_t> next = store_.table->with_queued.FirstFrom(page + 1);
  if (!next) return std::nullopt;
  page = *next;
  slot = SlotOf(page);
  if (slot == kUntouched) return page * kPageTasks;
  CHECK(slot != kAllDone);
  const std::uint32_t found = reinterpret_cast<const Page*>(slot)->FirstQueued(0);
  CHECK(found < kPageTasks);
  return page * kPageTasks + found;
}

TaskIndex JobTasks::RandomQueued(Rng& rng) const {
  CHECK(queued_ > 0);
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const auto index = static_cast<TaskIndex>(rng.Below(count_));
    if (IsQueued(index)) return index;
  }
  // Few are: the n-th of them.
  std::uint64_t n = rng.Below(queued_);
  for (std::uint32_t page = PageOf(*FirstQueued(0));;) {
    const Slot slot = small() ? kUntouched : SlotOf(page);
    std::uint64_t here = 0;
    if (small()) {
      here = queued_;
    } else if (slot != kAllDone) {
      here = slot == kUntouched ? TasksOf(page) : reinterpret_cast<const Page*>(slot)->queued;
    }
    if (n >= here) {
      n -= here;
      const auto next = FirstQueued((page + 1) * kPageTasks);
      CHECK(next.has_value());
      page = PageOf(*next);
      continue;
    }
    if (!small() && slot == kUntouched) return page * kPageTasks + static_cast<TaskIndex>(n);
    const std::uint64_t* words = small() ? &store_.bits.queued : reinterpret_cast<const Page*>(slot)->queued_words();
    for (std::uint32_t word = 0;; ++word) {
      std::uint64_t bits = words[word];
      const auto count = static_cast<std::uint64_t>(std::popcount(bits));
      if (n >= count) {
        n -= count;
        continue;
      }
      for (; n > 0; --n) bits &= bits - 1;
      return page * kPageTasks + word * 64 + static_cast<TaskIndex>(std::countr_zero(bits));
    }
  }
}

void JobTasks::CopyBits(std::uint32_t page_number, PageBits& queued, PageBits& done) const {
  queued.fill(0);
  done.fill(0);
  if (small()) {
    queued[0] = store_.bits.queued;
    done[0] = store_.bits.done;
    return;
  }
  const Slot slot = SlotOf(page_number);
  if (slot <= kAllDone) {
    SetPrefix((slot == kUntouched ? queued : done).data(), TasksOf(page_number));
    return;
  }
  const auto* page = reinterpret_cast<const Page*>(slot);
  std::copy_n(page->queued_words(), page->words(), queued.data());
  std::copy_n(page->done_words(), page->words(), done.data());
}

PageBits JobTasks::OutBits(std::uint32_t page) const {
  PageBits others{};
  PageBits done;
  CopyBits(page, others, done);
  for (std::uint32_t w = 0; w < kPageWords; ++w) others[w] |= done[w];
  if (rare_ != nullptr) {
    rare_->failed.OrPageInto(page, others);
    for (const auto& [batch, set] : rare_->retrying) set.OrPageInto(page, others);
  }
  PageBits out{};
  SetPrefix(out.data(), TasksOf(page));
  for (std::uint32_t w = 0; w < kPageWords; ++w) out[w] &= ~others[w];
  return out;
}

std::optional<TaskIndex> JobTasks::FirstOut(TaskIndex from) const {
  if (out() == 0) return std::nullopt;
  for (std::uint32_t page = PageOf(from); page < pages(); ++page, from = page * kPageTasks) {
    if (!small()) {
      const Slot slot = SlotOf(page);
      if (slot <= kAllDone) continue;
      const auto* bits = reinterpret_cast<const Page*>(slot);
      if (bits->queued + bits->done == bits->tasks) continue;
    }
    const std::uint32_t found = FirstSet(OutBits(page).data(), kPageWords, from % kPageTasks);
    if (found < kPageTasks) return page * kPageTasks + found;
  }
  return std::nullopt;
}

std::optional<TaskIndex> JobTasks::FirstDone(TaskIndex from) const {
  if (done_ == 0) return std::nullopt;
  if (small()) {
    const std::uint32_t found = FirstSet(&store_.bits.done, 1, from);
    return found < 64 ? std::optional(found) : std::nullopt;
  }
  for (std::uint32_t page = PageOf(from); page < pages(); ++page, from = page * kPageTasks) {
    const Slot slot = SlotOf(page);
    if (slot == kAllDone) return from;
    if (slot == kUntouched) continue;
    const auto* bits = reinterpret_cast<const Page*>(slot);
    const std::uint32_t found = FirstSet(bits->done_words(), bits->words(), from % kPageTasks);
    if (found < bits->words() * 64) return page * kPageTasks + found;
  }
  return std::nullopt;
}

std::optional<TaskIndex> JobTasks::FirstRetrying(TaskIndex from) const {
  std::optional<TaskIndex> first;
  for (const auto& [batch, set] : rare_->retrying) {
    const std::optional<TaskIndex> found = set.FirstFrom(from);
    if (found && (!first || *found < *first)) first = found;
  }
  return first;
}

std::optional<TaskIndex> JobTasks::FirstInState(TaskState state, TaskIndex from) const {
  if (from >= count_) return std::nullopt;
  switch (state) {
    case TaskState::kQueued:
      return FirstQueued(from);
    case TaskState::kRunning:
      return FirstOut(from);
    case TaskState::kDone:
      return FirstDone(from);
    case TaskState::kRetrying:
      return rare_ == nullptr ? std::nullopt : FirstRetrying(from);
    case TaskState::kFailed:
      return rare_ == nullptr ? std::nullopt : rare_->failed.FirstFrom(from);
    case TaskState::kSkipped:  // a word for tasks of an ended job, no state of its own here
      break;
  }
  return std::nullopt;
}

std::uint32_t JobTasks::TakeAttempts(TaskIndex index) {
  if (rare_ == nullptr) return 0;
  for (auto it = rare_->by_attempts.begin(); it != rare_->by_attempts.end(); ++it) {
    if (!it->second.Remove(index)) continue;
    const std::uint32_t attempts = it->first;
    if (it->second.empty()) rare_->by_attempts.erase(it);
    DropRareIfEmpty();
    return attempts;
  }
  return 0;
}

bool JobTasks::TakeRetrying(TaskIndex index) {
  if (retrying_ == 0) return false;
  for (auto it = rare_->retrying.begin(); it != rare_->retrying.end(); ++it) {
    if (!it->second.Remove(index)) continue;
    --retrying_;
    CountRare(PageOf(index), -1, 0);
    if (it->second.empty()) rare_->retrying.erase(it);
    DropRareIfEmpty();
    return true;
  }
  return false;
}

std::uint32_t JobTasks::Claim(TaskIndex index) {
  CHECK(IsQueued(index));
  ClearQueued(index);
  return TakeAttempts(index);
}

// Whether a task that is neither queued nor done is out is not checked here and below beyond the counts: it would cost
// a look into every due time.
void JobTasks::Release(TaskIndex index, std::uint32_t attempts_used) {
  CHECK(!IsQueued(index) && !IsDone(index) && out() > 0);
  SetQueued(index);
  if (attempts_used > 0) CHECK(MakeRare().by_attempts[attempts_used].Add(index));
}

void JobTasks::Wait(TaskIndex index, std::uint32_t attempts_used, WallTime due) {
  CHECK(!IsQueued(index) && !IsDone(index) && out() > 0 && attempts_used > 0);
  CHECK((MakeRare().retrying[{due, attempts_used}].Add(index)));
  ++retrying_;
  CountRare(PageOf(index), 1, 0);
}

void JobTasks::Promote(TaskIndex index) {
  const std::uint32_t attempts_used = AttemptsUsed(index);
  CHECK(TakeRetrying(index));
  Release(index, attempts_used);
}

void JobTasks::Finish(TaskIndex index) {
  if (IsQueued(index)) {
    TakeAttempts(index);
    ClearQueued(index);
    SetDone(index);
  } else if (TakeRetrying(index)) {
    SetDone(index);
  } else {
    CHECK(failed_ == 0 || !rare_->failed.Contains(index));
    FinishOut(index);
  }
}

void JobTasks::FinishOut(TaskIndex index) {
  CHECK(!IsQueued(index) && !IsDone(index) && out() > 0);
  SetDone(index);
}

void JobTasks::Fail(TaskIndex index) {
  CHECK(!IsQueued(index) && !IsDone(index) && out() > 0);
  CHECK(MakeRare().failed.Add(index));
  ++failed_;
  CountRare(PageOf(index), 0, 1);
}

std::optional<WallTime> JobTasks::NextDue() const {
  if (retrying_ == 0) return std::nullopt;
  return rare_->retrying.begin()->first.due;
}

std::uint32_t JobTasks::ReleaseDue(WallTime now, std::size_t max_pages,
                                   const std::function<void(std::uint32_t page)>& changed) {
  std::uint32_t released = 0;
  for (; max_pages > 0 && retrying_ > 0; --max_pages) {
    const auto first = rare_->retrying.begin();
    auto& [batch, set] = *first;
    if (batch.due > now) break;
    const std::uint32_t page = *set.FirstPage();
    PageBits bits{};
    const std::uint32_t n = set.OrPageInto(page, bits);
    set.TakePage(page, rare_->by_attempts[batch.attempts]);
    if (set.empty()) rare_->retrying.erase(first);
    retrying_ -= n;
    CountRare(page, -static_cast<std::int32_t>(n), 0);
    SetQueued(page, bits, n);
    released += n;
    changed(page);
  }
  return released;
}

std::uint32_t JobTasks::RevivePage(std::uint32_t page) {
  CHECK(page < pages());
  if (rare_ == nullptr) return 0;
  PageBits bits{};
  const std::uint32_t failed = rare_->failed.OrPageInto(page, bits);
  rare_->failed.ErasePage(page);
  failed_ -= failed;
  std::uint32_t retrying = 0;
  for (auto it = rare_->retrying.begin(); it != rare_->retrying.end();) {
    retrying += it->second.OrPageInto(page, bits);
    it->second.ErasePage(page);
    it = it->second.empty() ? rare_->retrying.erase(it) : std::next(it);
  }
  retrying_ -= retrying;
  CountRare(page, -static_cast<std::int32_t>(retrying), -static_cast<std::int32_t>(failed));
  for (auto it = rare_->by_attempts.begin(); it != rare_->by_attempts.end();) {
    it->second.ErasePage(page);
    it = it->second.empty() ? rare_->by_attempts.erase(it) : std::next(it);
  }
  DropRareIfEmpty();
  SetQueued(page, bits, failed + retrying);
  return failed + retrying;
}

bool JobTasks::Untouched(std::uint32_t page) const {
  CHECK(page < pages());
  if (small() ? queued_ != count_ : SlotOf(page) != kUntouched) return false;
  if (rare_ == nullptr) return true;
  return std::none_of(rare_->by_attempts.begin(), rare_->by_attempts.end(),
                      [&](const auto& entry) { return entry.second.SizeOfPage(page) > 0; });
}

std::size_t JobTasks::MemoryBytes() const {
  std::size_t bytes = 0;
  if (!small() && single()) {
    if (store_.slot > kAllDone) bytes += Page::BytesFor(count_);
  } else if (!small() && store_.table != nullptr) {
    bytes += sizeof(Table) + pages() * (sizeof(Slot) + sizeof(Table::PageCounts)) +
             store_.table->with_queued.MemoryBytes() + store_.table->page_bytes;
  }
  if (rare_ != nullptr) {
    constexpr std::size_t kNode = 4 * sizeof(void*);  // of a map, besides its value
    bytes += sizeof(Rare) + rare_->failed.MemoryBytes();
    for (const auto& entry : rare_->retrying) bytes += kNode + sizeof(entry) + entry.second.MemoryBytes();
    for (const auto& entry : rare_->by_attempts) bytes += kNode + sizeof(entry) + entry.second.MemoryBytes();
  }
  return bytes;
}

}  // namespace allot

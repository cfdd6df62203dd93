#include "backlog/job_tasks.h"

#include <algorithm>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"

namespace allot {

// The bits of a page whose tasks are neither all ready nor all done. The words stand behind it: a bit for each ready
// word that is not zero, the ready words, the done words.
struct JobTasks::Page {
  std::uint16_t tasks;
  std::uint16_t ready;
  std::uint16_t done;

  static std::uint32_t WordsFor(std::uint32_t tasks) { return (tasks + 63) / 64; }
  static std::size_t BytesFor(std::uint32_t tasks) {
    const std::uint32_t words = WordsFor(tasks);
    return kHeaderBytes + (WordsFor(words) + 2 * words) * sizeof(std::uint64_t);
  }
  // All ready.
  static Page* Make(std::uint32_t tasks) {
    void* memory = ::operator new(BytesFor(tasks));
    auto* page = new (memory) Page{static_cast<std::uint16_t>(tasks), static_cast<std::uint16_t>(tasks), 0};
    std::fill_n(page->summary(), page->summary_words() + 2 * page->words(), 0);
    SetPrefix(page->summary(), page->words());
    SetPrefix(page->ready_words(), tasks);
    return page;
  }
  static void Free(Page* page) { ::operator delete(page); }

  std::uint32_t words() const { return WordsFor(tasks); }
  std::uint32_t summary_words() const { return WordsFor(words()); }
  std::uint64_t* summary() const {
    auto* bytes = reinterpret_cast<char*>(const_cast<Page*>(this));
    return reinterpret_cast<std::uint64_t*>(bytes + kHeaderBytes);
  }
  std::uint64_t* ready_words() const { return summary() + summary_words(); }
  std::uint64_t* done_words() const { return ready_words() + words(); }

  void SetReady(std::uint32_t i) {
    SetBit(ready_words(), i);
    SetBit(summary(), i / 64);
    ++ready;
  }
  void ClearReady(std::uint32_t i) {
    ClearBit(ready_words(), i);
    if (ready_words()[i / 64] == 0) ClearBit(summary(), i / 64);
    --ready;
  }
  void SetDone(std::uint32_t i) {
    SetBit(done_words(), i);
    ++done;
  }
  // kPageTasks if there is none.
  std::uint32_t FirstReady(std::uint32_t from) const {
    const std::uint64_t rest = ready_words()[from / 64] & (~std::uint64_t{0} << (from % 64));
    if (rest != 0) return from / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t word = FirstSet(summary(), summary_words(), from / 64 + 1);
    if (word >= words()) return kPageTasks;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(ready_words()[word]));
  }

 private:
  static constexpr std::size_t kHeaderBytes = 8;
};

// The pages of a job that has several.
struct JobTasks::Table {
  explicit Table(std::uint32_t pages) : with_ready(pages), slots(std::make_unique<Slot[]>(pages)) {}
  BitTree with_ready;
  std::unique_ptr<Slot[]> slots;
  std::size_t page_bytes = 0;
};

struct JobTasks::Rare {
  struct Batch {
    WallTime due;
    std::uint32_t attempts;
    friend auto operator<=>(const Batch&, const Batch&) = default;
  };
  TaskSet failed;
  std::map<Batch, TaskSet> waiting;              // never an empty set, here and below
  std::map<std::uint32_t, TaskSet> by_attempts;  // the ready tasks with any
};

JobTasks::JobTasks(std::uint32_t count) : count_(count), ready_(count), store_{{0, 0}} {
  if (small()) SetPrefix(&store_.bits.ready, count);
}

JobTasks::JobTasks(JobTasks&& other) noexcept
    : count_(std::exchange(other.count_, 0)),
      ready_(std::exchange(other.ready_, 0)),
      done_(std::exchange(other.done_, 0)),
      failed_(std::exchange(other.failed_, 0)),
      waiting_(std::exchange(other.waiting_, 0)),
      store_(other.store_),
      rare_(std::move(other.rare_)) {
  other.store_.bits = {0, 0};
}

JobTasks& JobTasks::operator=(JobTasks&& other) noexcept {
  if (this == &other) return *this;
  FreeBits();
  count_ = std::exchange(other.count_, 0);
  ready_ = std::exchange(other.ready_, 0);
  done_ = std::exchange(other.done_, 0);
  failed_ = std::exchange(other.failed_, 0);
  waiting_ = std::exchange(other.waiting_, 0);
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
std::uint32_t JobTasks::ready() const { return ready_; }
std::uint32_t JobTasks::out() const { return count_ - ready_ - waiting_ - done_ - failed_; }
std::uint32_t JobTasks::waiting() const { return waiting_; }
std::uint32_t JobTasks::done() const { return done_; }
std::uint32_t JobTasks::failed() const { return failed_; }
std::uint32_t JobTasks::pages() const { return count_ == 0 ? 0 : PageOf(count_ - 1) + 1; }

std::uint32_t JobTasks::TasksOf(std::uint32_t page) const { return std::min(count_ - page * kPageTasks, kPageTasks); }

JobTasks::Slot JobTasks::SlotOf(std::uint32_t page) const {
  if (single()) return store_.slot;
  if (store_.table == nullptr) return ready_ == count_ ? kUntouched : kAllDone;
  return store_.table->slots[page];
}

JobTasks::Slot& JobTasks::MutableSlot(std::uint32_t page) {
  if (single()) return store_.slot;
  if (store_.table == nullptr) store_.table = new Table(pages());
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

void JobTasks::NoteReady(std::uint32_t page, bool any) {
  if (single()) return;
  if (any) {
    store_.table->with_ready.Set(page);
  } else {
    store_.table->with_ready.Clear(page);
  }
}

bool JobTasks::IsReady(TaskIndex index) const {
  CHECK(index < count_);
  if (small()) return TestBit(&store_.bits.ready, index);
  const Slot slot = SlotOf(PageOf(index));
  if (slot <= kAllDone) return slot == kUntouched;
  return TestBit(reinterpret_cast<const Page*>(slot)->ready_words(), index % kPageTasks);
}

bool JobTasks::IsDone(TaskIndex index) const {
  CHECK(index < count_);
  if (small()) return TestBit(&store_.bits.done, index);
  const Slot slot = SlotOf(PageOf(index));
  if (slot <= kAllDone) return slot == kAllDone;
  return TestBit(reinterpret_cast<const Page*>(slot)->done_words(), index % kPageTasks);
}

void JobTasks::SetReady(TaskIndex index) {
  if (small()) {
    SetBit(&store_.bits.ready, index);
  } else {
    Page& page = Open(PageOf(index));
    if (page.ready == 0) NoteReady(PageOf(index), true);
    page.SetReady(index % kPageTasks);
    if (page.ready == page.tasks) Close(PageOf(index), kUntouched);
  }
  ++ready_;
}

void JobTasks::SetReady(std::uint32_t page_number, const PageBits& bits, std::uint32_t n) {
  if (n == 0) return;
  if (small()) {
    store_.bits.ready |= bits[0];
  } else {
    Page& page = Open(page_number);
    if (page.ready == 0) NoteReady(page_number, true);
    std::uint64_t* words = page.ready_words();
    for (std::uint32_t w = 0; w < page.words(); ++w) {
      words[w] |= bits[w];
      if (words[w] != 0) SetBit(page.summary(), w);
    }
    page.ready = static_cast<std::uint16_t>(page.ready + n);
    if (page.ready == page.tasks) Close(page_number, kUntouched);
  }
  ready_ += n;
}

void JobTasks::ClearReady(TaskIndex index) {
  if (small()) {
    ClearBit(&store_.bits.ready, index);
  } else {
    Page& page = Open(PageOf(index));
    page.ClearReady(index % kPageTasks);
    if (page.ready == 0) NoteReady(PageOf(index), false);
  }
  --ready_;
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
  if (done_ == count_ && !single()) FreeBits();
}

JobTasks::Rare& JobTasks::MakeRare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

void JobTasks::DropRareIfEmpty() {
  if (rare_ != nullptr && rare_->failed.empty() && rare_->waiting.empty() && rare_->by_attempts.empty()) rare_.reset();
}

TaskState JobTasks::State(TaskIndex index) const {
  if (IsReady(index)) return TaskState::kReady;
  if (IsDone(index)) return TaskState::kDone;
  if (rare_ != nullptr) {
    if (rare_->failed.Contains(index)) return TaskState::kFailed;
    for (const auto& [batch, set] : rare_->waiting) {
      if (set.Contains(index)) return TaskState::kWaiting;
    }
  }
  return TaskState::kLeased;
}

std::uint32_t JobTasks::AttemptsUsed(TaskIndex index) const {
  CHECK(index < count_);
  if (rare_ == nullptr) return 0;
  for (const auto& [attempts, set] : rare_->by_attempts) {
    if (set.Contains(index)) return attempts;
  }
  for (const auto& [batch, set] : rare_->waiting) {
    if (set.Contains(index)) return batch.attempts;
  }
  return 0;
}

std::optional<TaskIndex> JobTasks::FirstReady(TaskIndex from) const {
  if (from >= count_ || ready_ == 0) return std::nullopt;
  if (small()) {
    const std::uint32_t found = FirstSet(&store_.bits.ready, 1, from);
    return found < 64 ? std::optional(found) : std::nullopt;
  }
  for (std::uint32_t page = PageOf(from);;) {
    const Slot slot = SlotOf(page);
    if (slot == kUntouched) return from;
    if (slot != kAllDone) {
      const std::uint32_t found = reinterpret_cast<const Page*>(slot)->FirstReady(from % kPageTasks);
      if (found < kPageTasks) return page * kPageTasks + found;
    }
    if (single() || page + 1 == pages()) return std::nullopt;
    // The table is there: a job without one is all ready or has nothing ready. The page found has ready tasks.
    const std::optional<std::uint32_t> next = store_.table->with_ready.FirstFrom(page + 1);
    if (!next) return std::nullopt;
    page = *next;
    from = page * kPageTasks;
  }
}

void JobTasks::CopyBits(std::uint32_t page_number, PageBits& ready, PageBits& done) const {
  ready.fill(0);
  done.fill(0);
  if (small()) {
    ready[0] = store_.bits.ready;
    done[0] = store_.bits.done;
    return;
  }
  const Slot slot = SlotOf(page_number);
  if (slot <= kAllDone) {
    SetPrefix((slot == kUntouched ? ready : done).data(), TasksOf(page_number));
    return;
  }
  const auto* page = reinterpret_cast<const Page*>(slot);
  std::copy_n(page->ready_words(), page->words(), ready.data());
  std::copy_n(page->done_words(), page->words(), done.data());
}

PageBits JobTasks::OutBits(std::uint32_t page) const {
  PageBits others{};
  PageBits done;
  CopyBits(page, others, done);
  for (std::uint32_t w = 0; w < kPageWords; ++w) others[w] |= done[w];
  if (rare_ != nullptr) {
    rare_->failed.OrPageInto(page, others);
    for (const auto& [batch, set] : rare_->waiting) set.OrPageInto(page, others);
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
      if (bits->ready + bits->done == bits->tasks) continue;
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

std::optional<TaskIndex> JobTasks::FirstWaiting(TaskIndex from) const {
  std::optional<TaskIndex> first;
  for (const auto& [batch, set] : rare_->waiting) {
    const std::optional<TaskIndex> found = set.FirstFrom(from);
    if (found && (!first || *found < *first)) first = found;
  }
  return first;
}

std::optional<TaskIndex> JobTasks::FirstInState(TaskState state, TaskIndex from) const {
  if (from >= count_) return std::nullopt;
  switch (state) {
    case TaskState::kReady:
      return FirstReady(from);
    case TaskState::kLeased:
      return FirstOut(from);
    case TaskState::kDone:
      return FirstDone(from);
    case TaskState::kWaiting:
      return rare_ == nullptr ? std::nullopt : FirstWaiting(from);
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

bool JobTasks::TakeWaiting(TaskIndex index) {
  if (waiting_ == 0) return false;
  for (auto it = rare_->waiting.begin(); it != rare_->waiting.end(); ++it) {
    if (!it->second.Remove(index)) continue;
    --waiting_;
    if (it->second.empty()) rare_->waiting.erase(it);
    DropRareIfEmpty();
    return true;
  }
  return false;
}

std::uint32_t JobTasks::Claim(TaskIndex index) {
  CHECK(IsReady(index));
  ClearReady(index);
  return TakeAttempts(index);
}

// Whether a task that is neither ready nor done is out is not checked here and below beyond the counts: it would cost
// a look into every due time.
void JobTasks::Release(TaskIndex index, std::uint32_t attempts_used) {
  CHECK(!IsReady(index) && !IsDone(index) && out() > 0);
  SetReady(index);
  if (attempts_used > 0) CHECK(MakeRare().by_attempts[attempts_used].Add(index));
}

void JobTasks::Wait(TaskIndex index, std::uint32_t attempts_used, WallTime due) {
  CHECK(!IsReady(index) && !IsDone(index) && out() > 0 && attempts_used > 0);
  CHECK((MakeRare().waiting[{due, attempts_used}].Add(index)));
  ++waiting_;
}

void JobTasks::Promote(TaskIndex index) {
  const std::uint32_t attempts_used = AttemptsUsed(index);
  CHECK(TakeWaiting(index));
  Release(index, attempts_used);
}

void JobTasks::Finish(TaskIndex index) {
  if (IsReady(index)) {
    TakeAttempts(index);
    ClearReady(index);
    SetDone(index);
  } else if (TakeWaiting(index)) {
    SetDone(index);
  } else {
    CHECK(failed_ == 0 || !rare_->failed.Contains(index));
    FinishOut(index);
  }
}

void JobTasks::FinishOut(TaskIndex index) {
  CHECK(!IsReady(index) && !IsDone(index) && out() > 0);
  SetDone(index);
}

void JobTasks::Fail(TaskIndex index) {
  CHECK(!IsReady(index) && !IsDone(index) && out() > 0);
  CHECK(MakeRare().failed.Add(index));
  ++failed_;
}

std::optional<WallTime> JobTasks::NextDue() const {
  if (waiting_ == 0) return std::nullopt;
  return rare_->waiting.begin()->first.due;
}

std::uint32_t JobTasks::ReleaseDue(WallTime now, std::size_t max_pages,
                                   const std::function<void(std::uint32_t page)>& changed) {
  std::uint32_t released = 0;
  for (; max_pages > 0 && waiting_ > 0; --max_pages) {
    const auto first = rare_->waiting.begin();
    auto& [batch, set] = *first;
    if (batch.due > now) break;
    const std::uint32_t page = *set.FirstPage();
    PageBits bits{};
    const std::uint32_t n = set.OrPageInto(page, bits);
    set.TakePage(page, rare_->by_attempts[batch.attempts]);
    if (set.empty()) rare_->waiting.erase(first);
    waiting_ -= n;
    SetReady(page, bits, n);
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
  std::uint32_t waiting = 0;
  for (auto it = rare_->waiting.begin(); it != rare_->waiting.end();) {
    waiting += it->second.OrPageInto(page, bits);
    it->second.ErasePage(page);
    it = it->second.empty() ? rare_->waiting.erase(it) : std::next(it);
  }
  waiting_ -= waiting;
  for (auto it = rare_->by_attempts.begin(); it != rare_->by_attempts.end();) {
    it->second.ErasePage(page);
    it = it->second.empty() ? rare_->by_attempts.erase(it) : std::next(it);
  }
  DropRareIfEmpty();
  SetReady(page, bits, failed + waiting);
  return failed + waiting;
}

bool JobTasks::Untouched(std::uint32_t page) const {
  CHECK(page < pages());
  if (small() ? ready_ != count_ : SlotOf(page) != kUntouched) return false;
  if (rare_ == nullptr) return true;
  return std::none_of(rare_->by_attempts.begin(), rare_->by_attempts.end(),
                      [&](const auto& entry) { return entry.second.SizeOfPage(page) > 0; });
}

namespace {

// The first byte of a saved page says which parts follow the done set.
constexpr std::uint8_t kHasFailed = 1;
constexpr std::uint8_t kHasWaiting = 2;
constexpr std::uint8_t kHasAttempts = 4;

}  // namespace

void JobTasks::SavePage(std::uint32_t page, ByteWriter& out) const {
  CHECK(page < pages());
  std::uint32_t batches = 0;
  std::uint32_t attempts_sets = 0;
  bool any_failed = false;
  if (rare_ != nullptr) {
    any_failed = rare_->failed.SizeOfPage(page) > 0;
    for (const auto& [batch, set] : rare_->waiting) batches += set.SizeOfPage(page) > 0;
    for (const auto& [attempts, set] : rare_->by_attempts) attempts_sets += set.SizeOfPage(page) > 0;
  }
  out.U8(static_cast<std::uint8_t>((any_failed ? kHasFailed : 0) | (batches > 0 ? kHasWaiting : 0) |
                                   (attempts_sets > 0 ? kHasAttempts : 0)));
  PageBits ready;
  PageBits done;
  CopyBits(page, ready, done);
  WriteBits(done, out);
  if (any_failed) rare_->failed.SavePage(page, out);
  if (batches > 0) {
    out.Varint(batches);
    for (const auto& [batch, set] : rare_->waiting) {
      if (set.SizeOfPage(page) == 0) continue;
      out.Signed(ToMillis(batch.due));
      out.Varint(batch.attempts);
      set.SavePage(page, out);
    }
  }
  if (attempts_sets > 0) {
    out.Varint(attempts_sets);
    for (const auto& [attempts, set] : rare_->by_attempts) {
      if (set.SizeOfPage(page) == 0) continue;
      out.Varint(attempts);
      set.SavePage(page, out);
    }
  }
}

bool JobTasks::LoadPage(std::uint32_t page, ByteReader& in) {
  if (page >= pages() || !Untouched(page)) return false;
  const std::uint32_t tasks = TasksOf(page);
  ByteReader reader = in;
  PageBits taken{};  // by any part so far: the parts have no task in common
  // Reads a set of tasks that no part before has; nothing if it is not one, or if it is empty and must not be.
  const auto read = [&](bool may_be_empty) -> std::optional<PageBits> {
    std::optional<PageBits> bits = ReadBits(tasks, reader);
    if (!bits) return std::nullopt;
    std::uint64_t any = 0;
    std::uint64_t common = 0;
    for (std::uint32_t w = 0; w < kPageWords; ++w) {
      any |= (*bits)[w];
      common |= (*bits)[w] & taken[w];
      taken[w] |= (*bits)[w];
    }
    if (common != 0 || (any == 0 && !may_be_empty)) return std::nullopt;
    return bits;
  };
  const auto read_attempts = [&]() -> std::uint32_t {  // 0: none that can be
    const std::uint64_t attempts = reader.Varint();
    return attempts <= UINT32_MAX ? static_cast<std::uint32_t>(attempts) : 0;
  };

  const std::uint8_t parts = reader.U8();
  if (!reader.ok() || (parts & ~(kHasFailed | kHasWaiting | kHasAttempts)) != 0) return false;
  const std::optional<PageBits> done = read(true);
  if (!done) return false;
  TaskSet failed;
  if ((parts & kHasFailed) != 0) {
    const std::optional<PageBits> bits = read(false);
    if (!bits) return false;
    failed.AddPage(page, *bits);
  }
  // Both lists are sorted by what is before each set. Sets, not bits: a page may have 32,768 due times.
  std::vector<std::pair<Rare::Batch, TaskSet>> waiting;
  if ((parts & kHasWaiting) != 0) {
    const std::uint64_t batches = reader.Varint();
    if (!reader.ok() || batches == 0 || batches > tasks) return false;
    for (std::uint64_t i = 0; i < batches; ++i) {
      const WallTime due = FromMillis(reader.Signed());
      const Rare::Batch batch{due, read_attempts()};
      if (!reader.ok() || batch.attempts == 0 || (i > 0 && batch <= waiting.back().first)) return false;
      const std::optional<PageBits> bits = read(false);
      if (!bits) return false;
      waiting.emplace_back(batch, TaskSet());
      waiting.back().second.AddPage(page, *bits);
    }
  }
  const PageBits not_ready = taken;
  std::vector<std::pair<std::uint32_t, TaskSet>> by_attempts;
  if ((parts & kHasAttempts) != 0) {
    const std::uint64_t sets = reader.Varint();
    if (!reader.ok() || sets == 0 || sets > tasks) return false;
    for (std::uint64_t i = 0; i < sets; ++i) {
      const std::uint32_t attempts = read_attempts();
      if (!reader.ok() || attempts == 0 || (i > 0 && attempts <= by_attempts.back().first)) return false;
      const std::optional<PageBits> bits = read(false);
      if (!bits) return false;
      by_attempts.emplace_back(attempts, TaskSet());
      by_attempts.back().second.AddPage(page, *bits);
    }
  }

  // All is well: from here on nothing can fail.
  in = reader;
  const std::uint32_t n_done = CountBits(done->data(), kPageWords);
  const std::uint32_t n_not_ready = CountBits(not_ready.data(), kPageWords);
  failed_ += static_cast<std::uint32_t>(failed.size());
  if (!failed.empty()) failed.TakePage(page, MakeRare().failed);
  for (auto& [batch, set] : waiting) {
    waiting_ += static_cast<std::uint32_t>(set.size());
    set.TakePage(page, MakeRare().waiting[batch]);
  }
  for (auto& [attempts, set] : by_attempts) set.TakePage(page, MakeRare().by_attempts[attempts]);
  if (n_not_ready == 0) return true;
  if (small()) {
    store_.bits.ready &= ~not_ready[0];
    store_.bits.done = (*done)[0];
  } else if (n_done == tasks) {
    Close(page, kAllDone);
  } else {
    Page& bits = Open(page);
    std::copy_n(done->data(), bits.words(), bits.done_words());
    for (std::uint32_t w = 0; w < bits.words(); ++w) {
      bits.ready_words()[w] &= ~not_ready[w];
      if (bits.ready_words()[w] == 0) ClearBit(bits.summary(), w);
    }
    bits.ready = static_cast<std::uint16_t>(tasks - n_not_ready);
    bits.done = static_cast<std::uint16_t>(n_done);
  }
  if (!small() && n_not_ready == tasks) NoteReady(page, false);
  ready_ -= n_not_ready;
  done_ += n_done;
  if (done_ == count_ && !small() && !single()) FreeBits();
  return true;
}

std::size_t JobTasks::MemoryBytes() const {
  std::size_t bytes = 0;
  if (!small() && single()) {
    if (store_.slot > kAllDone) bytes += Page::BytesFor(count_);
  } else if (!small() && store_.table != nullptr) {
    bytes += sizeof(Table) + pages() * sizeof(Slot) + store_.table->with_ready.MemoryBytes() + store_.table->page_bytes;
  }
  if (rare_ != nullptr) {
    constexpr std::size_t kNode = 4 * sizeof(void*);  // of a map, besides its value
    bytes += sizeof(Rare) + rare_->failed.MemoryBytes();
    for (const auto& entry : rare_->waiting) bytes += kNode + sizeof(entry) + entry.second.MemoryBytes();
    for (const auto& entry : rare_->by_attempts) bytes += kNode + sizeof(entry) + entry.second.MemoryBytes();
  }
  return bytes;
}

}  // namespace allot

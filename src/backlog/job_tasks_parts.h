// SPDX-License-Identifier: Apache-2.0
// What JobTasks is made of. For its own .cc files only.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>

#include "backlog/job_tasks.h"

namespace allot {

// The bits of a page whose tasks are neither all queued nor all done. The words stand behind it: a bit for each queued
// word that is not zero, the queued words, the done words.
struct JobTasks::Page {
  std::uint16_t tasks;
  std::uint16_t queued;
  std::uint16_t done;

  static std::uint32_t WordsFor(std::uint32_t tasks) { return (tasks + 63) / 64; }
  static std::size_t BytesFor(std::uint32_t tasks) {
    const std::uint32_t words = WordsFor(tasks);
    return kHeaderBytes + (WordsFor(words) + 2 * words) * sizeof(std::uint64_t);
  }
  // All queued.
  static Page* Make(std::uint32_t tasks) {
    void* memory = ::operator new(BytesFor(tasks));
    auto* page = new (memory) Page{static_cast<std::uint16_t>(tasks), static_cast<std::uint16_t>(tasks), 0};
    std::fill_n(page->summary(), page->summary_words() + 2 * page->words(), 0);
    SetPrefix(page->summary(), page->words());
    SetPrefix(page->queued_words(), tasks);
    return page;
  }
  static void Free(Page* page) { ::operator delete(page); }

  std::uint32_t words() const { return WordsFor(tasks); }
  std::uint32_t summary_words() const { return WordsFor(words()); }
  std::uint64_t* summary() const {
    auto* bytes = reinterpret_cast<char*>(const_cast<Page*>(this));
    return reinterpret_cast<std::uint64_t*>(bytes + kHeaderBytes);
  }
  std::uint64_t* queued_words() const { return summary() + summary_words(); }
  std::uint64_t* done_words() const { return queued_words() + words(); }

  void SetQueued(std::uint32_t i) {
    SetBit(queued_words(), i);
    SetBit(summary(), i / 64);
    ++queued;
  }
  void ClearQueued(std::uint32_t i) {
    ClearBit(queued_words(), i);
    if (queued_words()[i / 64] == 0) ClearBit(summary(), i / 64);
    --queued;
  }
  void SetDone(std::uint32_t i) {
    SetBit(done_words(), i);
    ++done;
  }
  // kPageTasks if there is none.
  std::uint32_t FirstQueued(std::uint32_t from) const {
    const std::uint64_t rest = queued_words()[from / 64] & (~std::uint64_t{0} << (from % 64));
    if (rest != 0) return from / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t word = FirstSet(summary(), summary_words(), from / 64 + 1);
    if (word >= words()) return kPageTasks;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(queued_words()[word]));
  }

 private:
  static constexpr std::size_t kHeaderBytes = 8;
};

// The pages of a job that has several.
struct JobTasks::Table {
  // What there is of a page, beside what is out. All pages side by side, so that a picture of them needs no look at
  // each.
  struct PageCounts {
    std::uint16_t queued, done, retrying, failed;
  };
  explicit Table(const JobTasks& job)
      : with_queued(job.pages()),
        slots(std::make_unique<Slot[]>(job.pages())),
        counts(std::make_unique<PageCounts[]>(job.pages())) {
    for (std::uint32_t page = 0; page < job.pages(); ++page) {
      counts[page].queued = static_cast<std::uint16_t>(job.TasksOf(page));
    }
  }
  BitTree with_queued;
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<PageCounts[]> counts;
  std::size_t page_bytes = 0;
};

struct JobTasks::Rare {
  struct Batch {
    WallTime due;
    std::uint32_t attempts;
    friend auto operator<=>(const Batch&, const Batch&) = default;
  };
  std::uint32_t n_retrying = 0;  // of all of them
  TaskSet failed;
  std::map<Batch, TaskSet> retrying;             // never an empty set, here and below
  std::map<std::uint32_t, TaskSet> by_attempts;  // the queued tasks with any
};

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "base/memory_range.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/sanitizers.h"

namespace allot {

constinit MemoryRange g_memory_range;

bool MemoryRange::Reserve() {
#if !ALLOT_SANITIZED
  std::lock_guard lock(mutex_);
  if (tried_) return begin_ != 0;
  tried_ = true;
  for (std::size_t bytes = std::size_t{1} << 40; bytes >= std::size_t{1} << 34; bytes /= 4) {
    void* got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) continue;
    const auto at = (reinterpret_cast<std::uintptr_t>(got) + kBlock - 1) / kBlock * kBlock;
    next_ = opened_ = at;
    end_ = at + bytes - kBlock;
    begin_.store(at, std::memory_order_relaxed);
    size_.store(end_ - at, std::memory_order_release);  // as long as it is 0, nothing is in it
    return true;
  }
#endif
  return false;
}

void* MemoryRange::Take(std::size_t blocks) {
  std::lock_guard lock(mutex_);
  if (blocks > 1) return TakeFree(blocks);
  if (ready_ == nullptr) {
    // Better one that is in memory still than one that is not any more.
    Row* row = returned_;
    if (row == nullptr || row->blocks > 1) return TakeFree(1);
    returned_ = row->next;
    --returned_count_;
    return row;
  }
  Row* row = ready_;
  ready_ = row->next;
  if (--ready_count_ < kReady / 2 && !filling_) {
    filling_ = true;
    Wake();
  }
  return row;
}

void MemoryRange::Give(void* at, std::size_t blocks) {
  std::unique_lock lock(mutex_);
  if (keepers_ == 0) {
    lock.unlock();
    madvise(at, blocks * kBlock, MADV_DONTNEED);
    lock.lock();
    return Put(discarded_, at, blocks);
  }
  if (blocks == 1 && ready_count_ < kReady) return KeepReady(at);
  returned_ = new (at) Row{blocks, returned_};
  const std::size_t before = returned_count_;
  returned_count_ += blocks;
  if (before < kReturned && returned_count_ >= kReturned) Wake();
}

void* MemoryRange::TakeFree(std::size_t blocks) {
  if (void* at = TakeFrom(kept_, blocks, true)) return at;
  if (prepared_ > next_ && prepared_ - next_ >= blocks * kBlock) return TakeFresh(blocks);
  if (void* at = TakeFrom(discarded_, blocks, false)) return at;
  return TakeFresh(blocks);
}

// Of long rows the shortest that is long enough; what is over stays one.
void* MemoryRange::TakeFrom(Rows& rows, std::size_t blocks, bool split) {
  if (rows.blocks < blocks) return nullptr;
  Free** from = blocks <= kRows ? &rows.of[blocks - 1] : nullptr;
  if (from == nullptr) {
    from = &rows.longer;
    for (Free** at = &rows.longer; *at != nullptr; at = &(*at)->next) {
      if ((*at)->blocks >= blocks && ((*from)->blocks < blocks || (*at)->blocks < (*from)->blocks)) from = at;
    }
  }
  // Where there is none of that length, the next longer one. Of those the system has back there is none to be spared:
  // addresses are plenty.
  if (split) {
    for (std::size_t longer = blocks; longer < kRows && *from == nullptr; ++longer) from = &rows.of[longer];
    if (*from == nullptr) from = &rows.longer;
  }
  Free* free = *from;
  if (free == nullptr || free->blocks < blocks) return nullptr;
  *from = free->next;
  const Free taken = *free;
  std::free(free);
  rows.blocks -= taken.blocks;
  const std::size_t over = taken.blocks - blocks;
  if (over > 0) Put(rows, static_cast<std::byte*>(taken.at) + blocks * kBlock, over);
  return taken.at;
}

void* MemoryRange::TakeFresh(std::size_t blocks) {
  const std::size_t bytes = blocks * kBlock;
  if (end_ - next_ < bytes) return nullptr;
  if (opened_ - next_ < bytes) {
    const std::size_t more = std::min(end_ - opened_, (bytes + kOpenedAtOnce - 1) / kOpenedAtOnce * kOpenedAtOnce);
    if (mprotect(reinterpret_cast<void*>(opened_), more, PROT_READ | PROT_WRITE) != 0) return nullptr;
    opened_ += more;
    if (opened_ - next_ < bytes) return nullptr;
  }
  void* at = reinterpret_cast<void*>(next_);
  next_ += bytes;
  return at;
}

void MemoryRange::Put(Rows& rows, void* at, std::size_t blocks) {
  auto* free = static_cast<Free*>(std::malloc(sizeof(Free)));
  if (free == nullptr) return;  // nobody gets it any more
  Free*& list = blocks <= kRows ? rows.of[blocks - 1] : rows.longer;
  *free = {at, blocks, list};
  list = free;
  rows.blocks += blocks;
}

void MemoryRange::Prepare(std::size_t bytes) {
  if (!Reserve()) return;
  std::lock_guard lock(mutex_);
  most_kept_ = bytes / kBlock;
  const std::uintptr_t to = next_ + std::min(most_kept_ * kBlock, end_ - next_);
  if (to > opened_) {
    if (mprotect(reinterpret_cast<void*>(opened_), to - opened_, PROT_READ | PROT_WRITE) != 0) return;
    opened_ = to;
  }
  for (std::uintptr_t page = next_; page < to; page += kPage) *reinterpret_cast<volatile char*>(page) = 0;
  prepared_ = std::max(prepared_, to);
}

void MemoryRange::KeepReady(void* block) {
  ready_ = new (block) Row{1, ready_};
  ++ready_count_;
}

void MemoryRange::Wake() {
  calls_.fetch_add(1);
  calls_.notify_all();
}

std::size_t MemoryRange::Returned() {
  std::lock_guard lock(mutex_);
  return returned_count_;
}

bool MemoryRange::KeepOne(std::unique_lock<std::mutex>& lock) {
  if (Row* row = returned_; row != nullptr) {
    returned_ = row->next;
    const std::size_t blocks = row->blocks;
    returned_count_ -= blocks;
    if (kept_.blocks + blocks <= most_kept_) {
      Put(kept_, row, blocks);
      return true;
    }
    lock.unlock();
    madvise(row, blocks * kBlock, MADV_DONTNEED);
    lock.lock();
    Put(discarded_, row, blocks);
    return true;
  }
  if (opened_ - next_ < kOpenedAhead && opened_ < end_) {
    const std::uintptr_t from = opened_;
    const std::size_t more = std::min(end_ - from, kOpenedAtOnce);
    lock.unlock();
    const bool done = mprotect(reinterpret_cast<void*>(from), more, PROT_READ | PROT_WRITE) == 0;
    lock.lock();
    if (done && opened_ == from) opened_ += more;
    if (done) return true;
  }
  filling_ = filling_ && ready_count_ < kReady;
  if (!filling_) return false;
  void* block = TakeFree(1);
  if (block == nullptr) return filling_ = false;
  lock.unlock();
  for (std::size_t page = 0; page < kBlock; page += kPage) *(static_cast<volatile char*>(block) + page) = 0;
  lock.lock();
  KeepReady(block);
  return true;
}

void MemoryRange::Keep(const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_);
  ++keepers_;
  filling_ = true;
  for (std::size_t done = 1; !stop; ++done) {
    const std::uint32_t calls = calls_.load();
    if (KeepOne(lock)) {
      if (done % 64 == 0) lock.unlock(), lock.lock();  // others may wait
      continue;
    }
    lock.unlock();
    if (!stop) calls_.wait(calls);
    lock.lock();
  }
  if (--keepers_ == 0) Discard();
}

void MemoryRange::Discard() {
  most_kept_ = 0;
  filling_ = false;
  for (; ready_ != nullptr; --ready_count_) {
    Row* row = ready_;
    ready_ = row->next;
    row->next = returned_;
    returned_ = row;
    ++returned_count_;
  }
  const auto give_back = [this](void* at, std::size_t blocks) {
    madvise(at, blocks * kBlock, MADV_DONTNEED);
    Put(discarded_, at, blocks);
  };
  while (Row* row = returned_) {
    const std::size_t blocks = row->blocks;
    returned_ = row->next;
    returned_count_ -= blocks;
    give_back(row, blocks);
  }
  const auto give_all_back = [&](Free*& list) {
    while (Free* free = list) {
      list = free->next;
      give_back(free->at, free->blocks);
      std::free(free);
    }
  };
  for (Free*& list : kept_.of) give_all_back(list);
  give_all_back(kept_.longer);
  kept_.blocks = 0;
  if (prepared_ > next_) madvise(reinterpret_cast<void*>(next_), prepared_ - next_, MADV_DONTNEED);
  prepared_ = 0;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "base/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/memory_owner.h"
#include "base/memory_range.h"
#include "base/sanitizers.h"

namespace allot {
namespace {

constexpr std::size_t kBlock = MemoryRange::kBlock;
constexpr std::size_t kHeader = 64;
constexpr std::size_t kLargest = 8 * 1024;  // that shares a block
constexpr std::size_t kPage = MemoryRange::kPage;

// Sizes: multiples of 16 up to 256, then sixteen for each power of two.
constexpr std::size_t kFine = 16;
constexpr std::size_t kClasses = kFine + 5 * 16;
constexpr std::size_t ClassOf(std::size_t bytes) {
  if (bytes <= 256) return bytes == 0 ? 0 : (bytes - 1) / 16;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power+1)
  return kFine + (power - 8) * 16 + (bytes - 1 - (std::size_t{1} << power)) / (std::size_t{1} << (power - 4));
}
constexpr std::size_t SizeOf(std::size_t cls) {
  if (cls < kFine) return (cls + 1) * 16;
  const std::size_t power = 8 + (cls - kFine) / 16;
  return (std::size_t{1} << power) + ((cls - kFine) % 16 + 1) * (std::size_t{1} << (power - 4));
}
static_assert(ClassOf(kLargest) == kClasses - 1 && SizeOf(kClasses - 1) == kLargest);
static_assert(SizeOf(ClassOf(257)) == 272 && SizeOf(ClassOf(256)) == 256 && SizeOf(ClassOf(1288)) == 1344);

}  // namespace

// At the beginning of each block, or of each row of blocks for one large piece.
struct MemoryPool::Block {
  State* state;
  void* free;            // pieces that were used before, each with the next one in it
  Block *before, *next;  // among those of the class that have room
  std::uint32_t size;    // of a piece; 0: one large one
  std::uint32_t used;    // pieces
  std::uint32_t fresh;   // where those begin that were never used
  std::uint32_t blocks;  // of a large one
  bool listed;
};

struct MemoryPool::State {
  static_assert(sizeof(Block) <= kHeader);
  std::array<Block*, kClasses> open{};  // blocks that have room
  std::int64_t bytes = 0;
  MemorySum* sum = nullptr;
  std::atomic<const void*> thread{nullptr};
  std::atomic<void*> sent{nullptr};  // pieces that other threads deleted
  void* received = nullptr;          // of these, what is still to be put back

  void Add(std::size_t more) {
    bytes += static_cast<std::int64_t>(more);
    if (sum != nullptr) sum->bytes += static_cast<std::int64_t>(more);
  }
  void Take(std::size_t less) {
    bytes -= static_cast<std::int64_t>(less);
    if (sum != nullptr) sum->bytes -= static_cast<std::int64_t>(less);
  }
};

namespace {

constinit thread_local char t_here = 0;
constinit thread_local const void* t_owner = nullptr;

// To whom a pool belongs whose scope is open here.
const void* Here() { return t_owner != nullptr ? t_owner : &t_here; }

}  // namespace

constinit thread_local MemoryPool* MemoryPool::current_ = nullptr;

MemoryOwner::MemoryOwner(const void* whose) : before_(std::exchange(t_owner, whose)) {}
MemoryOwner::~MemoryOwner() { t_owner = before_; }

struct MemoryHooks {
  using Block = MemoryPool::Block;
  using State = MemoryPool::State;

  static Block* BlockOf(void* piece) {
    return reinterpret_cast<Block*>(reinterpret_cast<std::uintptr_t>(piece) / kBlock * kBlock);
  }

  static void List(State& state, Block& block) {
    Block*& first = state.open[ClassOf(block.size)];
    block.before = nullptr;
    block.next = first;
    if (first != nullptr) first->before = &block;
    first = &block;
    block.listed = true;
  }
  static void Unlist(State& state, Block& block) {
    (block.before != nullptr ? block.before->next : state.open[ClassOf(block.size)]) = block.next;
    if (block.next != nullptr) block.next->before = block.before;
    block.listed = false;
  }

  static void* New(State& state, std::size_t bytes) {
    if (state.received != nullptr || state.sent.load(std::memory_order_relaxed) != nullptr) {
      Receive(state, kReceivedWithNew);
    }
    if (bytes > kLargest) return NewLarge(state, bytes);
    const std::size_t cls = ClassOf(bytes);
    Block* block = state.open[cls];
    if (block == nullptr) {
      void* at = g_memory_range.Take(1);
      if (at == nullptr) return nullptr;
      block = new (at)
          Block{&state, nullptr, nullptr, nullptr, static_cast<std::uint32_t>(SizeOf(cls)), 0, kHeader, 1, false};
      List(state, *block);
    }
    void* piece = block->free;
    if (piece != nullptr) {
      block->free = *static_cast<void**>(piece);
    } else {
      piece = reinterpret_cast<std::byte*>(block) + block->fresh;
      block->fresh += block->size;
    }
    ++block->used;
    if (block->free == nullptr && block->fresh + block->size > kBlock) Unlist(state, *block);
    state.Add(block->size);
    return piece;
  }

  static void* NewLarge(State& state, std::size_t bytes) {
    if (bytes > std::size_t{1} << 38) return nullptr;
    const std::size_t blocks = (bytes + kHeader + kBlock - 1) / kBlock;
    void* at = g_memory_range.Take(blocks);
    if (at == nullptr) return nullptr;
    auto* block = new (at) Block{&state,  nullptr,
                                 nullptr, nullptr,
                                 0,       static_cast<std::uint32_t>((bytes + kHeader + kPage - 1) / kPage),
                                 0,       static_cast<std::uint32_t>(blocks),
                                 false};
    state.Add(std::size_t{block->used} * kPage);
    return static_cast<std::byte*>(at) + kHeader;
  }

  static void Delete(State& state, Block& block, void* piece) {
    if (block.size == 0) {
      state.Take(std::size_t{block.used} * kPage);
      g_memory_range.Give(&block, block.blocks);
      return;
    }
    state.Take(block.size);
    *static_cast<void**>(piece) = block.free;
    block.free = piece;
    if (!block.listed) List(state, block);
    if (--block.used > 0) return;
    // One that is empty stays for what comes next, unless another has room.
    if (block.before == nullptr && block.next == nullptr) return;
    Unlist(state, block);
    g_memory_range.Give(&block, 1);
  }

  static void Delete(void* piece) {
    Block& block = *BlockOf(piece);
    State& state = *block.state;
    if (state.thread.load(std::memory_order_relaxed) == Here()) return Delete(state, block, piece);
    void* first = state.sent.load(std::memory_order_relaxed);
    do {
      *static_cast<void**>(piece) = first;
    } while (!state.sent.compare_exchange_weak(first, piece, std::memory_order_release, std::memory_order_relaxed));
  }

  // What other threads have deleted: so much of it. A walk of theirs may have had a million pieces, and neither a
  // single allocation of the owner nor a thousand of them are to take that long.
  static void Receive(State& state, std::size_t most) {
    for (; most > 0; --most) {
      if (state.received == nullptr) state.received = state.sent.exchange(nullptr, std::memory_order_acquire);
      void* const piece = state.received;
      if (piece == nullptr) return;
      state.received = *static_cast<void**>(piece);
      Delete(state, *BlockOf(piece), piece);
    }
  }
  static constexpr std::size_t kReceivedWithNew = 2;
  static constexpr std::size_t kReceivedWithCount = 4096;
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  static void* Allocate(std::size_t bytes) {
    if (MemoryPool* pool = MemoryPool::current_; pool != nullptr) [[unlikely]] {
      if (void* piece = New(*pool->state_, bytes)) return piece;
    }
    return std::malloc(bytes == 0 ? 1 : bytes);
  }
};

// What the state is in must not come from a scope that happens to be open.
MemoryPool::MemoryPool(MemorySum* sum) : state_(new (std::malloc(sizeof(State))) State) {
  state_->sum = sum;
  state_->thread.store(Here(), std::memory_order_relaxed);
}

MemoryPool::~MemoryPool() {
  state_->thread.store(Here(), std::memory_order_relaxed);
  MemoryHooks::Receive(*state_, MemoryHooks::kAll);
  state_->sum = nullptr;
  if (state_->bytes != 0) {
    // Some are still in use, and may be deleted by anybody: they are put aside from now on.
    state_->thread.store(nullptr, std::memory_order_relaxed);
    return;
  }
  for (Block* block : state_->open) {
    while (block != nullptr) {
      Block* next = block->next;
      g_memory_range.Give(block, 1);
      block = next;
    }
  }
  state_->~State();
  std::free(state_);
}

bool MemoryPool::Available() { return g_memory_range.Reserve(); }

std::size_t MemoryPool::bytes() const {
  state_->thread.store(Here(), std::memory_order_relaxed);
  MemoryHooks::Receive(*state_, MemoryHooks::kReceivedWithCount);
  return static_cast<std::size_t>(state_->bytes);
}

std::size_t MemoryPool::Taken(std::size_t bytes) {
  return bytes > kLargest ? (bytes + kHeader + kPage - 1) / kPage * kPage : SizeOf(ClassOf(bytes));
}

void MemoryPool::Scope::Open(MemoryPool* pool) {
  if (pool == nullptr) {
    current_ = nullptr;
    return;
  }
  static const bool available = Available();
  if (!available) return;
  pool->state_->thread.store(Here(), std::memory_order_relaxed);
  current_ = pool;
}

}  // namespace allot

#if !ALLOT_SANITIZED

void* operator new(std::size_t bytes) {
  void* piece = allot::MemoryHooks::Allocate(bytes);
  if (piece == nullptr) throw std::bad_alloc();
  return piece;
}

void operator delete(void* piece) noexcept {
  if (allot::g_memory_range.Has(piece)) return allot::MemoryHooks::Delete(piece);
  std::free(piece);
}

void operator delete(void* piece, std::size_t) noexcept { ::operator delete(piece); }

#endif

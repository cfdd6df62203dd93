// SPDX-License-Identifier: Apache-2.0
#include "backlog/task_chunk.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

namespace allot {
namespace {

constexpr std::uint32_t kBitmapBytes = kPageTasks / 8;

std::uint32_t RoundUp(std::uint32_t n, std::uint32_t to) { return (n + to - 1) / to * to; }

// The sum of the first n of at most 128 bytes, eight at a time in lanes of 16 bits. They stand in a multiple of eight.
std::uint32_t SumBytes(const std::uint8_t* bytes, std::uint32_t n) {
  constexpr std::uint64_t kLow = 0x00FF00FF00FF00FFull;
  std::uint64_t lanes = 0;
  for (std::uint32_t i = 0; i < n; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    if (n - i < 8) word &= (std::uint64_t{1} << (8 * (n - i))) - 1;
    lanes += (word & kLow) + ((word >> 8) & kLow);
  }
  return static_cast<std::uint32_t>((lanes * 0x0001000100010001ull) >> 48);
}

}  // namespace

TaskChunk::TaskChunk(TaskChunk&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      slot_(other.slot_),
      form_(std::exchange(other.form_, Form::kArray)) {}

TaskChunk& TaskChunk::operator=(TaskChunk&& other) noexcept {
  if (this == &other) return *this;
  Free();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  slot_ = other.slot_;
  form_ = std::exchange(other.form_, Form::kArray);
  return *this;
}

TaskChunk::~TaskChunk() { Free(); }

void TaskChunk::Free() {
  ::operator delete(data_);
  data_ = nullptr;
  size_ = 0;
  capacity_ = 0;
  form_ = Form::kArray;
}

void TaskChunk::Reallocate(std::uint32_t capacity) {
  void* data = ::operator new(capacity);
  if (data_ != nullptr) std::memcpy(data, data_, std::min<std::uint32_t>(capacity, capacity_));
  ::operator delete(data_);
  data_ = data;
  capacity_ = static_cast<std::uint16_t>(capacity);
}

std::uint32_t TaskChunk::Need(Form form, std::uint32_t size, std::uint32_t last) {
  switch (form) {
    case Form::kArray:
      return size * 2;
    case Form::kSplit:
      return kBlocks + size;
    case Form::kBitmap:
      return (last / 64 + 1) * 8;
    case Form::kFull:
      break;
  }
  return 0;
}

TaskChunk::Form TaskChunk::Smallest(std::uint32_t size, std::uint32_t last, bool may_split) {
  if (size == kPageTasks) return Form::kFull;
  Form best = Form::kBitmap;  // and on a tie, as it is the fastest
  if (Need(Form::kArray, size, last) < Need(best, size, last)) best = Form::kArray;
  if (may_split && Need(Form::kSplit, size, last) < Need(best, size, last)) best = Form::kSplit;
  return best;
}

bool TaskChunk::HasFullBlock(const PageBits& bits) {
  constexpr std::uint32_t kBlockWords = kBlockTasks / 64;
  for (std::uint32_t w = 0; w < kPageWords; w += kBlockWords) {
    if (std::all_of(&bits[w], &bits[w] + kBlockWords, [](std::uint64_t word) { return ~word == 0; })) return true;
  }
  return false;
}

std::uint32_t TaskChunk::Last() const {
  switch (form_) {
    case Form::kArray:
      return offsets()[size_ - 1];
    case Form::kSplit: {
      std::uint32_t block = kBlocks - 1;
      while (counts()[block] == 0) --block;
      return block * kBlockTasks + lows()[size_ - 1];
    }
    case Form::kBitmap: {
      std::uint32_t w = n_words() - 1;
      while (words()[w] == 0) --w;
      return w * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(words()[w]));
    }
    case Form::kFull:
      break;
  }
  return kPageTasks - 1;
}

TaskChunk::Place TaskChunk::Locate(std::uint32_t offset) const {
  if (form_ == Form::kArray) {
    const std::uint16_t* end = offsets() + size_;
    const std::uint16_t* at = std::lower_bound<const std::uint16_t*>(offsets(), end, offset);
    return {static_cast<std::uint32_t>(at - offsets()), at != end && *at == offset};
  }
  const std::uint32_t block = offset / kBlockTasks;
  const std::uint8_t* first = lows() + SumBytes(counts(), block);
  const std::uint8_t* end = first + counts()[block];
  const std::uint8_t* at = std::lower_bound(first, end, offset % kBlockTasks);
  return {static_cast<std::uint32_t>(at - lows()), at != end && *at == offset % kBlockTasks};
}

bool TaskChunk::Contains(std::uint32_t offset) const {
  switch (form_) {
    case Form::kArray:
    case Form::kSplit:
      return Locate(offset).found;
    case Form::kBitmap:
      return offset / 64 < n_words() && TestBit(words(), offset);
    case Form::kFull:
      break;
  }
  return true;
}

void TaskChunk::Insert(std::uint32_t position, std::uint32_t offset) {
  if (form_ == Form::kArray) {
    std::copy_backward(offsets() + position, offsets() + size_, offsets() + size_ + 1);
    offsets()[position] = static_cast<std::uint16_t>(offset);
  } else {
    std::memmove(lows() + position + 1, lows() + position, size_ - position);
    lows()[position] = static_cast<std::uint8_t>(offset % kBlockTasks);
    ++counts()[offset / kBlockTasks];
  }
  ++size_;
}

bool TaskChunk::Add(std::uint32_t offset) {
  switch (form_) {
    case Form::kArray:
    case Form::kSplit: {
      const auto [position, found] = Locate(offset);
      if (found) return false;
      const bool block_full = form_ == Form::kSplit && counts()[offset / kBlockTasks] == kMaxInBlock;
      if (block_full || Need(form_, size_ + 1u, offset) > capacity_) {
        GrowWith(position, offset);
      } else {
        Insert(position, offset);
      }
      return true;
    }
    case Form::kBitmap:
      if (offset / 64 >= n_words()) {
        GrowWith(0, offset);
        return true;
      }
      if (TestBit(words(), offset)) return false;
      SetBit(words(), offset);
      if (++size_ == kPageTasks) {
        Free();
        form_ = Form::kFull;
        size_ = kPageTasks;
      }
      return true;
    case Form::kFull:
      break;
  }
  return false;
}

void TaskChunk::GrowWith(std::uint32_t position, std::uint32_t offset) {
  const std::uint32_t size = size_ + 1u;
  const std::uint32_t last = size_ == 0 ? offset : std::max(Last(), offset);
  // The first member is an array whatever its offset: most sets of a small job stay there.
  Form form = size == 1 ? Form::kArray : Smallest(size, last, true);
  PageBits bits;
  if (form != form_ || (form == Form::kSplit && counts()[offset / kBlockTasks] == kMaxInBlock)) {
    bits.fill(0);
    OrInto(bits);
    SetBit(bits.data(), offset);
    if (form == Form::kSplit && HasFullBlock(bits)) form = Smallest(size, last, false);
  }
  const std::uint32_t need = Need(form, size, last);
  const std::uint32_t capacity = form == Form::kBitmap ? std::min(RoundUp(need + need / 8, 8), kBitmapBytes)
                                                       : RoundUp(need + std::min(need / 4, 24u), 8);
  if (form != form_) {
    AssignAs(form, bits, size, capacity);
    return;
  }
  const std::uint32_t before = capacity_;
  Reallocate(capacity);
  if (form == Form::kBitmap) {
    std::memset(static_cast<std::uint8_t*>(data_) + before, 0, capacity - before);
    SetBit(words(), offset);
    ++size_;
  } else {
    Insert(position, offset);
  }
}

bool TaskChunk::Remove(std::uint32_t offset) {
  if (!Contains(offset)) return false;
  if (size_ == 1) {
    Free();
    return true;
  }
  switch (form_) {
    case Form::kArray: {
      const std::uint32_t position = Locate(offset).position;
      std::copy(offsets() + position + 1, offsets() + size_, offsets() + position);
      --size_;
      break;
    }
    case Form::kSplit: {
      const std::uint32_t position = Locate(offset).position;
      std::memmove(lows() + position, lows() + position + 1, size_ - position - 1u);
      --counts()[offset / kBlockTasks];
      --size_;
      break;
    }
    case Form::kBitmap:
      ClearBit(words(), offset);
      --size_;
      break;
    case Form::kFull: {
      PageBits bits;
      bits.fill(~std::uint64_t{0});
      ClearBit(bits.data(), offset);
      AssignAs(Form::kBitmap, bits, kPageTasks - 1, kBitmapBytes);
      return true;
    }
  }
  // Twice what is needed is too much; less would change form to and fro at a border.
  const std::uint32_t enough = std::min(Need(Form::kArray, size_, 0), Need(Form::kSplit, size_, 0));
  if (capacity_ > 2 * enough + 64) {
    PageBits bits{};
    OrInto(bits);
    Assign(bits);
  }
  return true;
}

std::uint32_t TaskChunk::FirstFrom(std::uint32_t offset) const {
  switch (form_) {
    case Form::kArray: {
      const std::uint32_t position = Locate(offset).position;
      return position < size_ ? offsets()[position] : kPageTasks;
    }
    case Form::kSplit: {
      const auto [position, found] = Locate(offset);
      if (found) return offset;
      if (position == size_) return kPageTasks;
      std::uint32_t block = offset / kBlockTasks;
      if (position == SumBytes(counts(), block + 1)) {  // the next is in a later block
        do {
          ++block;
        } while (counts()[block] == 0);
      }
      return block * kBlockTasks + lows()[position];
    }
    case Form::kBitmap: {
      const std::uint32_t found = FirstSet(words(), n_words(), offset);
      return found < n_words() * 64 ? found : kPageTasks;
    }
    case Form::kFull:
      break;
  }
  return offset;
}

void TaskChunk::OrInto(PageBits& bits) const {
  switch (form_) {
    case Form::kArray:
      for (std::uint32_t i = 0; i < size_; ++i) SetBit(bits.data(), offsets()[i]);
      break;
    case Form::kSplit:
      for (std::uint32_t block = 0, i = 0; block < kBlocks; ++block) {
        for (const std::uint32_t end = i + counts()[block]; i < end; ++i) {
          SetBit(bits.data(), block * kBlockTasks + lows()[i]);
        }
      }
      break;
    case Form::kBitmap:
      for (std::uint32_t w = 0; w < n_words(); ++w) bits[w] |= words()[w];
      break;
    case Form::kFull:
      bits.fill(~std::uint64_t{0});
      break;
  }
}

void TaskChunk::Assign(const PageBits& bits) {
  const std::uint32_t size = CountBits(bits.data(), kPageWords);
  if (size == 0) {
    Free();
    return;
  }
  std::uint32_t w = kPageWords - 1;
  while (bits[w] == 0) --w;
  const Form form = Smallest(size, w * 64, !HasFullBlock(bits));
  AssignAs(form, bits, size, RoundUp(Need(form, size, w * 64), 8));
}

void TaskChunk::AssignAs(Form form, const PageBits& bits, std::uint32_t size, std::uint32_t capacity) {
  Free();
  form_ = form;
  size_ = static_cast<std::uint16_t>(size);
  if (form == Form::kFull) return;
  Reallocate(capacity);
  switch (form) {
    case Form::kArray: {
      std::uint16_t* next = offsets();
      ForEachSet(bits.data(), kPageWords, [&](std::uint32_t i) { *next++ = static_cast<std::uint16_t>(i); });
      break;
    }
    case Form::kSplit: {
      std::uint8_t* next = lows();
      ForEachSet(bits.data(), kPageWords,
                 [&](std::uint32_t i) { *next++ = static_cast<std::uint8_t>(i % kBlockTasks); });
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        constexpr std::uint32_t kBlockWords = kBlockTasks / 64;
        counts()[block] = static_cast<std::uint8_t>(CountBits(&bits[block * kBlockWords], kBlockWords));
      }
      break;
    }
    case Form::kBitmap:
      std::copy_n(bits.data(), n_words(), words());
      break;
    case Form::kFull:
      break;
  }
}

void TaskChunk::Merge(const TaskChunk& other) {
  constexpr std::uint32_t kFew = 16;  // below, adding one by one is cheaper than 4 KiB of bits
  if (other.size_ <= kFew) {
    for (std::uint32_t i = other.FirstFrom(0); i < kPageTasks;
         i = i + 1 < kPageTasks ? other.FirstFrom(i + 1) : kPageTasks) {
      Add(i);
    }
    return;
  }
  PageBits bits{};
  OrInto(bits);
  other.OrInto(bits);
  Assign(bits);
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "backlog/task_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace allot {
namespace {

constexpr std::uint32_t kMaxPage = PageOf(~TaskIndex{0});

// The first entry whose key is not below `key`, in a sorted vector or a const one.
template <typename Entries, typename Key>
auto LowerBound(Entries& entries, std::uint32_t key, Key key_of) {
  return std::lower_bound(entries.begin(), entries.end(), key,
                          [&](const auto& entry, std::uint32_t k) { return key_of(entry) < k; });
}

constexpr auto kNumber = [](const auto& group) { return group.number; };
constexpr auto kSlot = [](const TaskChunk& chunk) -> std::uint32_t { return chunk.slot(); };

// Calls visit(offset) for each member.
template <typename Visit>
void Each(const TaskChunk& chunk, Visit&& visit) {
  PageBits bits{};
  chunk.OrInto(bits);
  ForEachSet(bits.data(), kPageWords, visit);
}

}  // namespace

TaskSet::TaskSet(TaskSet&& other) noexcept : groups_(std::move(other.groups_)), size_(std::exchange(other.size_, 0)) {
  other.groups_.clear();
}

TaskSet& TaskSet::operator=(TaskSet&& other) noexcept {
  if (this == &other) return *this;
  groups_ = std::move(other.groups_);
  other.groups_.clear();
  size_ = std::exchange(other.size_, 0);
  return *this;
}

const TaskChunk* TaskSet::Find(std::uint32_t page) const {
  const auto group = LowerBound(groups_, page / kGroupPages, kNumber);
  if (group == groups_.end() || group->number != page / kGroupPages) return nullptr;
  const auto chunk = LowerBound(group->chunks, page % kGroupPages, kSlot);
  if (chunk == group->chunks.end() || chunk->slot() != page % kGroupPages) return nullptr;
  return &*chunk;
}

TaskChunk& TaskSet::FindOrMake(std::uint32_t page) {
  const std::uint32_t number = page / kGroupPages;
  const std::uint32_t slot = page % kGroupPages;
  auto group = LowerBound(groups_, number, kNumber);
  if (group == groups_.end() || group->number != number) group = groups_.insert(group, Group{number, {}});
  auto chunk = LowerBound(group->chunks, slot, kSlot);
  if (chunk == group->chunks.end() || chunk->slot() != slot) {
    chunk = group->chunks.insert(chunk, TaskChunk(static_cast<std::uint8_t>(slot)));
  }
  return *chunk;
}

TaskChunk TaskSet::Detach(std::uint32_t page) {
  const auto group = LowerBound(groups_, page / kGroupPages, kNumber);
  CHECK(group != groups_.end() && group->number == page / kGroupPages);
  const auto chunk = LowerBound(group->chunks, page % kGroupPages, kSlot);
  CHECK(chunk != group->chunks.end() && chunk->slot() == page % kGroupPages);
  TaskChunk taken = std::move(*chunk);
  size_ -= taken.size();
  group->chunks.erase(chunk);
  if (group->chunks.empty()) groups_.erase(group);
  if (groups_.empty()) groups_.shrink_to_fit();
  return taken;
}

bool TaskSet::Add(TaskIndex index) {
  if (!FindOrMake(PageOf(index)).Add(index % kPageTasks)) return false;
  ++size_;
  return true;
}

bool TaskSet::Remove(TaskIndex index) {
  auto* chunk = const_cast<TaskChunk*>(Find(PageOf(index)));
  if (chunk == nullptr || !chunk->Remove(index % kPageTasks)) return false;
  --size_;
  if (chunk->size() == 0) Detach(PageOf(index));
  return true;
}

bool TaskSet::Contains(TaskIndex index) const {
  const TaskChunk* chunk = Find(PageOf(index));
  return chunk != nullptr && chunk->Contains(index % kPageTasks);
}

std::optional<TaskIndex> TaskSet::FirstFrom(TaskIndex from) const {
  const std::uint32_t page = PageOf(from);
  for (auto group = LowerBound(groups_, page / kGroupPages, kNumber); group != groups_.end(); ++group) {
    const bool same_group = group->number == page / kGroupPages;
    for (auto chunk = same_group ? LowerBound(group->chunks, page % kGroupPages, kSlot) : group->chunks.begin();
         chunk != group->chunks.end(); ++chunk) {
      const bool same_page = same_group && chunk->slot() == page % kGroupPages;
      const std::uint32_t found = chunk->FirstFrom(same_page ? from % kPageTasks : 0);
      if (found < kPageTasks) return (group->number * kGroupPages + chunk->slot()) * kPageTasks + found;
    }
  }
  return std::nullopt;
}

void TaskSet::ForEach(const std::function<void(TaskIndex)>& visit) const {
  for (const Group& group : groups_) {
    for (const TaskChunk& chunk : group.chunks) {
      const TaskIndex first = (group.number * kGroupPages + chunk.slot()) * kPageTasks;
      Each(chunk, [&](std::uint32_t offset) { visit(first + offset); });
    }
  }
}

void TaskSet::ForEachInPage(std::uint32_t page, const std::function<void(TaskIndex)>& visit) const {
  const TaskChunk* chunk = Find(page);
  if (chunk == nullptr) return;
  Each(*chunk, [&](std::uint32_t offset) { visit(page * kPageTasks + offset); });
}

std::uint32_t TaskSet::SizeOfPage(std::uint32_t page) const {
  const TaskChunk* chunk = Find(page);
  return chunk == nullptr ? 0 : chunk->size();
}

std::vector<std::uint32_t> TaskSet::Pages() const {
  std::vector<std::uint32_t> pages;
  for (const Group& group : groups_) {
    for (const TaskChunk& chunk : group.chunks) pages.push_back(group.number * kGroupPages + chunk.slot());
  }
  return pages;
}

std::optional<std::uint32_t> TaskSet::FirstPage() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.front().number * kGroupPages + groups_.front().chunks.front().slot();
}

std::uint32_t TaskSet::OrPageInto(std::uint32_t page, PageBits& bits) const {
  const TaskChunk* chunk = Find(page);
  if (chunk == nullptr) return 0;
  chunk->OrInto(bits);
  return chunk->size();
}

void TaskSet::AddPage(std::uint32_t page, const PageBits& bits) {
  if (CountBits(bits.data(), kPageWords) == 0) return;
  TaskChunk& chunk = FindOrMake(page);
  const std::uint32_t before = chunk.size();
  if (before == 0) {
    chunk.Assign(bits);
  } else {
    PageBits all = bits;
    chunk.OrInto(all);
    chunk.Assign(all);
  }
  size_ += chunk.size() - before;
}

void TaskSet::TakePage(std::uint32_t page, TaskSet& out) {
  if (Find(page) == nullptr) return;
  TaskChunk taken = Detach(page);
  TaskChunk& chunk = out.FindOrMake(page);
  const std::uint32_t before = chunk.size();
  if (before == 0) {
    chunk = std::move(taken);
  } else {
    chunk.Merge(taken);
  }
  out.size_ += chunk.size() - before;
}

std::uint32_t TaskSet::ErasePage(std::uint32_t page) {
  if (Find(page) == nullptr) return 0;
  return Detach(page).size();
}

void TaskSet::Merge(const TaskSet& other) {
  if (&other == this) return;
  for (const Group& group : other.groups_) {
    for (const TaskChunk& from : group.chunks) {
      TaskChunk& chunk = FindOrMake(group.number * kGroupPages + from.slot());
      const std::uint32_t before = chunk.size();
      chunk.Merge(from);
      size_ += chunk.size() - before;
    }
  }
}

void TaskSet::Clear() {
  groups_.clear();
  groups_.shrink_to_fit();
  size_ = 0;
}

std::size_t TaskSet::MemoryBytes() const {
  std::size_t bytes = groups_.capacity() * sizeof(Group);
  for (const Group& group : groups_) {
    bytes += group.chunks.capacity() * sizeof(TaskChunk);
    for (const TaskChunk& chunk : group.chunks) bytes += chunk.MemoryBytes();
  }
  return bytes;
}

void TaskSet::SavePage(std::uint32_t page, ByteWriter& out) const {
  PageBits bits{};
  OrPageInto(page, bits);
  WriteBits(bits, out);
}

bool TaskSet::LoadPage(std::uint32_t page, ByteReader& in) {
  if (page > kMaxPage || SizeOfPage(page) != 0) return false;
  ByteReader reader = in;
  const std::optional<PageBits> bits = ReadBits(kPageTasks, reader);
  if (!bits) return false;
  in = reader;
  AddPage(page, *bits);
  return true;
}

}  // namespace allot

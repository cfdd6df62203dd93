// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/cell.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/check.h"

namespace allot::order {

void JobList::Insert(Order order, PickJob* job) {
  if (!more_ && one_ == nullptr) {
    one_ = job;
    return;
  }
  if (!more_) {
    more_ = std::make_unique<SmallOrder<Key, PickJob*>>();
    more_->Insert(KeyOf(order, *one_), one_);
    one_ = nullptr;
  }
  more_->Insert(KeyOf(order, *job), job);
}

void JobList::Erase(Order order, PickJob* job) {
  if (!more_) {
    CHECK(one_ == job);
    one_ = nullptr;
    return;
  }
  more_->Erase(KeyOf(order, *job));
  if (more_->empty()) more_.reset();
}

bool JobList::Shrink(std::size_t jobs) {
  one_ = nullptr;
  if (more_ && more_->Shrink(jobs)) more_.reset();
  return !more_;
}

void JobLottery::Put(PickJob& job, JobPlaces& places) {
  CHECK(job.queued > 0);
  places.Make(job.slot) = jobs_.Add(&job, job.queued).at;
}

void JobLottery::Take(PickJob& job, std::uint32_t weight, JobPlaces& places) {
  const WeightedSet<PickJob*>::Place place{WeightedSet<PickJob*>::BucketOf(weight), places[job.slot]};
  CHECK(jobs_.Get(place) == &job);
  jobs_.Remove(place, [&](PickJob* moved, const WeightedSet<PickJob*>::Place& to) { places[moved->slot] = to.at; });
}

void JobLottery::Change(PickJob& job, std::uint32_t before, JobPlaces& places) {
  tasks_ += std::uint64_t{job.queued} - before;
  if (WeightedSet<PickJob*>::BucketOf(before) == WeightedSet<PickJob*>::BucketOf(job.queued)) return;
  Take(job, before, places);
  Put(job, places);
}

PickJob* JobLottery::Draw(Rng& rng) const {
  for (;;) {
    std::uint64_t rounded = 0;
    PickJob* job = jobs_.At(rng.Below(jobs_.total()), rounded);
    if (rounded == 1 || rng.Below(rounded) < job->queued) return job;
  }
}

PickJob* JobLottery::Any() const {
  std::uint64_t rounded = 0;
  return jobs_.At(0, rounded);
}

namespace {

// Puts `count` of T behind `at`, made anew where there is memory; counts bytes where there is none.
template <typename T>
T* Lay(std::byte* memory, std::size_t& at, std::size_t count) {
  static_assert(alignof(T) <= alignof(Cell));
  at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
  T* made = nullptr;
  if (memory != nullptr) {
    made = reinterpret_cast<T*>(memory + at);
    for (std::size_t i = 0; i < count; ++i) new (made + i) T();
  }
  at += count * sizeof(T);
  return made;
}

// Where the parts of a cell of that shape lie behind it; gives the size of all. Without memory: the size alone.
std::size_t LayOut(const CellShape& shape, Cell* cell, std::byte* memory) {
  std::size_t at = sizeof(Cell);
  auto* leaves = Lay<LeafPlace>(memory, at, shape.leaves);
  auto* orders = Lay<JobList>(memory, at, shape.orders);
  auto* links = Lay<Cell::Links>(memory, at, shape.links);
  auto* fair_groups = Lay<FairGroup*>(memory, at, shape.fair_groups);
  auto* values = Lay<ValueId>(memory, at, shape.values);
  auto* bins = Lay<std::uint32_t>(memory, at, shape.bins);
  if (cell == nullptr) return at;
  cell->leaves = leaves;
  cell->orders = orders;
  cell->links = links;
  cell->fair_groups = fair_groups;
  cell->values = values;
  cell->bins = bins;
  cell->order_count = static_cast<std::uint8_t>(shape.orders);
  return at;
}

}  // namespace

Cell::Owned Cell::Make(const CellShape& shape) {
  auto* memory = static_cast<std::byte*>(::operator new(LayOut(shape, nullptr, nullptr)));
  Owned cell(new (memory) Cell);
  LayOut(shape, cell.get(), memory);
  return cell;
}

void Cell::Free::operator()(Cell* cell) const {
  std::destroy_n(cell->orders, cell->order_count);
  cell->~Cell();
  ::operator delete(cell);
}

}  // namespace allot::order

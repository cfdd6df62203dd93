// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/cell_trees.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace allot::order {
namespace {

// What moving a cell costs, in about a microsecond.
constexpr std::size_t kMoveCost = 2;

}  // namespace

CellTrees::CellTrees(const Plan& plan, ViewContext& context)
    : plan_(plan), context_(context), root_(MakeView(plan, context)) {}

CellTrees::~CellTrees() = default;

// --- Cells.

void CellTrees::Put(Cell& cell) {
  CHECK(!cell.placed);
  if (!cell.known && cell.group != 0 && !by_group_.empty()) {
    if (const auto found = by_group_.find(cell.group);
        found != by_group_.end() && sides_[found->second]->joining == kNone) {
      Side& side = *sides_[found->second];
      cell.side = found->second + 1;
      cell.side_place = static_cast<std::uint32_t>(side.cells.size());
      side.cells.push_back(&cell);
    }
  }
  cell.known = true;
  TreeOf(cell).Put(cell);
  cell.placed = true;
}

void CellTrees::Drop(Cell& cell) {
  if (!cell.placed) return;
  TreeOf(cell).Drop(cell);
  cell.placed = false;
}

void CellTrees::Forget(Cell& cell) {
  CHECK(!cell.placed);
  if (cell.side != 0) Leave(cell);
}

// It is in no tree. Where it was the last of its group's, that tree is gone too.
void CellTrees::Leave(Cell& cell) {
  const std::uint32_t at = cell.side - 1;
  Side& side = *sides_[at];
  Cell* last = side.cells.back();
  last->side_place = cell.side_place;
  side.cells[cell.side_place] = last;
  side.cells.pop_back();
  cell.side = 0;
  if (!side.cells.empty()) return;
  Delist(active_, &Side::active, at);
  Delist(joining_, &Side::joining, at);
  SetOpened(side, false);
  by_group_.erase(side.group);
  sides_[at].reset();
  free_.push_back(at);
}

void CellTrees::MoveAside(Cell& cell, StartGate::Blocked blocked) {
  root_->Drop(cell);
  auto [found, fresh] = by_group_.try_emplace(cell.group, static_cast<std::uint32_t>(sides_.size()));
  if (fresh) {
    if (free_.empty()) {
      sides_.emplace_back();
    } else {
      found->second = free_.back();
      free_.pop_back();
    }
    sides_[found->second] = std::make_unique<Side>();
    sides_[found->second]->group = cell.group;
    sides_[found->second]->root = MakeView(plan_, context_);
  }
  Side& side = *sides_[found->second];
  Delist(joining_, &Side::joining, found->second);
  cell.side = found->second + 1;
  cell.side_place = static_cast<std::uint32_t>(side.cells.size());
  side.cells.push_back(&cell);
  side.root->Put(cell);
  if (blocked == StartGate::Blocked::kHere) Enlist(active_, &Side::active, found->second);
}

void CellTrees::Enlist(std::vector<std::uint32_t>& list, std::uint32_t Side::*place, std::uint32_t at) {
  if (sides_[at].get()->*place != kNone) return;
  sides_[at].get()->*place = static_cast<std::uint32_t>(list.size());
  list.push_back(at);
}

void CellTrees::Delist(std::vector<std::uint32_t>& list, std::uint32_t Side::*place, std::uint32_t at) {
  const std::uint32_t hole = std::exchange(sides_[at].get()->*place, kNone);
  if (hole == kNone) return;
  const std::uint32_t last = list.back();
  list.pop_back();
  if (last == at) return;
  list[hole] = last;
  sides_[last].get()->*place = hole;
}

// --- Picking.

Choice CellTrees::Pick(Bit kind, StartGate* gate, Rng* rng) {
  unfinished_ = false;
  moved_ = asked_ = 0;
  context_.gave_up = false;
  context_.moves_left = most_shifted;
  const Choice choice = PickAmong(kind, gate, rng);
  // That takes less than moving from one tree to another.
  constexpr std::size_t kShiftedAtOnce = 4;
  moved_ += (most_shifted - context_.moves_left) / kShiftedAtOnce;
  if (!context_.gave_up) return choice;
  unfinished_ = true;
  return {};
}

Choice CellTrees::PickAmong(Bit kind, StartGate* gate, Rng* rng) {
  Choice best = root_->Pick(kind, rng);
  for (; gate != nullptr && best && best.cell->group != 0; best = root_->Pick(kind, rng)) {
    const StartGate::Blocked blocked = gate->Ask(best.cell->group);
    if (blocked == StartGate::Blocked::kNo) break;
    if (moved_++ == most_moved) {
      unfinished_ = true;
      return {};
    }
    MoveAside(*best.cell, blocked);
  }
  if (context_.gave_up) return {};
  const bool many = active_.size() > kFewActive;
  for (std::size_t i = 0; i < active_.size();) {
    Side& side = *sides_[active_[i]];
    ++asked_;
    const StartGate::Blocked blocked = gate == nullptr ? StartGate::Blocked::kNo
                                       : many          ? gate->AskClosely(side.group)
                                                       : gate->Ask(side.group);
    // It stays apart, so that it is found when it opens again.
    if (blocked != StartGate::Blocked::kNo) {
      Delist(joining_, &Side::joining, active_[i]);
      SetOpened(side, false);
    }
    if (blocked == StartGate::Blocked::kEverywhere) {
      Delist(active_, &Side::active, active_[i]);
      continue;
    }
    ++i;
    if (blocked == StartGate::Blocked::kHere) continue;
    const Choice choice = side.root->Pick(kind, rng);
    if (context_.gave_up) return {};
    if (!choice) continue;
    const int order = best ? Compare(plan_, context_, kind, choice, best) : -1;
    if (order > 0) continue;
    if (order < 0) {
      best = choice;
      continue;
    }
    // Two parts of one lottery: each wins as often as it has tasks.
    const std::uint64_t both = best.tasks + choice.tasks;
    if (rng != nullptr && rng->Below(both) < choice.tasks) best = choice;
    best.tasks = both;
  }
  return best;
}

// --- Groups.

void CellTrees::Open(std::uint32_t group) {
  if (const auto found = by_group_.find(group); found != by_group_.end()) {
    Enlist(active_, &Side::active, found->second);
    SetOpened(*sides_[found->second], true);
  }
}

void CellTrees::SetOpened(Side& side, bool opened) {
  if (side.opened == opened) return;
  side.opened = opened;
  opened ? ++opened_ : --opened_;
}

void CellTrees::AddMask(std::uint32_t group, std::uint64_t* out) const {
  const auto found = by_group_.find(group);
  if (found != by_group_.end()) sides_[found->second]->root->AddMask(out);
}

void CellTrees::AddAside(Bit kind, std::size_t most, std::vector<std::uint32_t>& out) {
  std::vector<std::uint64_t> mask(context_.verdicts.kinds().mask_words());
  for (std::size_t n = std::min(most, sides_.size()); n > 0; --n) {
    if (++aside_ >= sides_.size()) aside_ = 0;
    const Side* side = sides_[aside_].get();
    if (side == nullptr) continue;
    std::fill(mask.begin(), mask.end(), 0);
    side->root->AddMask(mask.data());
    if ((mask[kind / 64] >> (kind % 64) & 1) != 0) out.push_back(side->group);
  }
}

void CellTrees::Join(std::uint32_t group) {
  if (const auto found = by_group_.find(group); found != by_group_.end()) {
    Enlist(joining_, &Side::joining, found->second);
  }
}

void CellTrees::JoinOpened() {
  for (const std::uint32_t at : active_) {
    if (sides_[at]->opened) Enlist(joining_, &Side::joining, at);
  }
}

bool CellTrees::Step(std::size_t& budget) {
  while (!joining_.empty()) {
    if (budget == 0) return false;
    budget -= std::min(budget, kMoveCost);
    Cell& cell = *sides_[joining_.back()]->cells.back();
    Drop(cell);
    Leave(cell);
    Put(cell);
  }
  return true;
}

// --- All trees.

void CellTrees::RefreshBit(Bit bit) {
  root_->RefreshBit(bit);
  for (const auto& side : sides_) {
    if (side) side->root->RefreshBit(bit);
  }
}

void CellTrees::Rebuild() {
  root_.reset();
  for (const auto& side : sides_) {
    if (side) side->root.reset();
  }
  for (auto& spare : context_.spare) spare.clear();  // as wide as before
  root_ = MakeView(plan_, context_);
  for (const auto& side : sides_) {
    if (side) side->root = MakeView(plan_, context_);
  }
}

bool CellTrees::Shrink(std::size_t& budget) {
  if (!root_->Shrink(budget)) return false;
  for (const auto& side : sides_) {
    if (side && !side->root->Shrink(budget)) return false;
  }
  return true;
}

std::size_t CellTrees::MemoryBytes() const {
  std::size_t bytes = root_->MemoryBytes();
  for (const auto& side : sides_) {
    if (side) bytes += sizeof(Side) + side->root->MemoryBytes() + side->cells.capacity() * sizeof(Cell*);
  }
  return bytes;
}

}  // namespace allot::order

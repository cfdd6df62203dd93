// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/cell_lists.h"

#include <algorithm>

namespace allot::order {

std::size_t CellLists::Link(std::size_t key) {
  const auto found = std::find_if(lists_.begin(), lists_.end(), [key](const List& list) { return list.key == key; });
  if (found != lists_.end()) return static_cast<std::size_t>(found - lists_.begin());
  lists_.emplace_back().key = key;
  return lists_.size() - 1;
}

void CellLists::Insert(Cell& cell, std::size_t link) {
  Ends& ends = EndsOf(cell, link);
  Cell::Links& links = cell.links[link];
  links.raised = IsRaised(cell, link);
  links.before = links.raised ? nullptr : ends.last;
  links.next = links.raised ? ends.first : nullptr;
  (links.before != nullptr ? links.before->links[link].next : ends.first) = &cell;
  (links.next != nullptr ? links.next->links[link].before : ends.last) = &cell;
}

void CellLists::Erase(Cell& cell, std::size_t link) {
  Ends& ends = EndsOf(cell, link);
  const Cell::Links& links = cell.links[link];
  (links.before != nullptr ? links.before->links[link].next : ends.first) = links.next;
  (links.next != nullptr ? links.next->links[link].before : ends.last) = links.before;
  for (Walk& walk : walks_) {
    if (walk.link == link && walk.next == &cell) walk.next = links.next;
  }
}

void CellLists::Move(Cell& cell, std::size_t link) {
  Erase(cell, link);
  Insert(cell, link);
}

void CellLists::Add(Cell& cell) {
  for (std::size_t link = 0; link < lists_.size(); ++link) Insert(cell, link);
}

void CellLists::Remove(Cell& cell) {
  for (std::size_t link = 0; link < lists_.size(); ++link) Erase(cell, link);
}

void CellLists::BeginWalk(std::size_t link, ValueId value) {
  if (!AnyRaised(link, value)) return;
  const Ends* ends = lists_[link].by_value.Find(value);
  const auto found = std::find_if(walks_.begin(), walks_.end(),
                                  [&](const Walk& walk) { return walk.link == link && walk.value == value; });
  if (found != walks_.end()) {
    found->next = ends->first;
  } else {
    walks_.push_back({link, value, ends->first});
  }
}

Cell* CellLists::NextOfWalk() {
  Walk& walk = walks_.back();
  Cell* cell = walk.next;
  if (cell == nullptr || !cell->links[walk.link].raised) {
    walks_.pop_back();
    return nullptr;
  }
  walk.next = cell->links[walk.link].next;
  return cell;
}

Cell* CellLists::Unraised(std::size_t link, ValueId value) const {
  const Ends* ends = lists_[link].by_value.Find(value);
  Cell* last = ends == nullptr ? nullptr : ends->last;
  return last == nullptr || last->links[link].raised ? nullptr : last;
}

std::size_t CellLists::MemoryBytes() const {
  std::size_t bytes = 0;
  for (const List& list : lists_) bytes += list.by_value.MemoryBytes();
  return bytes;
}

}  // namespace allot::order

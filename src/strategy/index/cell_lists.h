// SPDX-License-Identifier: Apache-2.0
// The cells of an index by the values of those keys that a block with levels or a gate has, so that a value that flips
// finds its cells without a look at others.
//
// Of each value those cells come first that stand above the lowest level in some such block ("raised"): when the value
// falls, they alone are to be looked at. Walks over them go on in steps, while cells come and go.
//
// Threading:  confined to the queue's engine thread.
// Invariants: in every list the raised cells come before all others.
#pragma once

#include <cstdint>
#include <vector>

#include "strategy/index/cell.h"
#include "strategy/trees/slot_array.h"

namespace allot::order {

class CellLists {
 public:
  // One more key of the index that has lists; gives its number.
  std::size_t Link(std::size_t key);
  // A block whose level is that bin of cells, over that key's values.
  void AddBin(std::size_t link, std::size_t bin) { lists_[link].bins.push_back(bin); }
  std::size_t links() const { return lists_.size(); }

  void Add(Cell& cell);
  void Remove(Cell& cell);
  // One of its bins may have become 0, or not be so any more.
  void Place(Cell& cell, std::size_t link) {
    if (cell.links[link].raised != IsRaised(cell, link)) Move(cell, link);
  }

  // Cells of values that fell and may stand too high.
  struct Walk {
    std::size_t link = 0;
    ValueId value = kNoValue;
    Cell* next = nullptr;
  };
  // Begins one over the raised cells of that value, or begins it anew.
  void BeginWalk(std::size_t link, ValueId value);
  std::vector<Walk>& walks() { return walks_; }
  const std::vector<Walk>& walks() const { return walks_; }
  // The next cell of the last walk; null: it is at its end, and gone.
  Cell* NextOfWalk();

  // A cell of that value that is not raised; null: all are.
  Cell* Unraised(std::size_t link, ValueId value) const;
  bool AnyRaised(std::size_t link, ValueId value) const {
    const Ends* ends = lists_[link].by_value.Find(value);
    return ends != nullptr && ends->first != nullptr && ends->first->links[link].raised;
  }
  std::size_t MemoryBytes() const;

  // Nobody needs them any more: throws some of them away, and gives the bytes; 0: none are left.
  std::size_t DropPage() {
    for (List& list : lists_) {
      if (list.by_value.DropPage()) return SlotArray<Ends>::kPageBytes;
    }
    return 0;
  }

 private:
  struct Ends {
    Cell *first = nullptr, *last = nullptr;
  };
  struct List {
    std::size_t key = 0;
    std::vector<std::size_t> bins;
    SlotArray<Ends> by_value;
  };
  bool IsRaised(const Cell& cell, std::size_t link) const {
    for (const std::size_t bin : lists_[link].bins) {
      if (cell.bins[bin] > 0) return true;
    }
    return false;
  }
  Ends& EndsOf(const Cell& cell, std::size_t link) { return lists_[link].by_value.Make(cell.values[lists_[link].key]); }
  void Insert(Cell& cell, std::size_t link);
  void Erase(Cell& cell, std::size_t link);
  void Move(Cell& cell, std::size_t link);

  std::vector<List> lists_;
  std::vector<Walk> walks_;
};

}  // namespace allot::order

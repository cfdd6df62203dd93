// SPDX-License-Identifier: Apache-2.0
// The trees of views over the cells of one index: the main one, and beside it one for each group of jobs whose starts
// were found to be blocked.
//
// A group that is blocked leaves the main tree when picks meet its cells, one after the other, and is not met again.
// When it may start again, its own tree is asked beside the main one, and the better of the choices is the pick: so
// what a limit pays out costs one more question, however many cells the group has. A group that has not been blocked
// for a while joins the main tree again, in steps.
//
// Threading:  confined to the queue's engine thread.
// Invariants: a placed cell is in exactly one tree: the main one, or its group's. What Pick() gives is what one tree of
//             all cells that are not blocked would have given.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "strategy/index/views.h"

namespace allot::order {

class CellTrees {
 public:
  // `plan` and `context` outlive it.
  CellTrees(const Plan& plan, ViewContext& context);
  ~CellTrees();
  CellTrees(const CellTrees&) = delete;
  CellTrees& operator=(const CellTrees&) = delete;

  void Put(Cell& cell);
  void Drop(Cell& cell);
  // It moves within its tree: what it stands by changed.
  void Moved(Cell& cell) { TreeOf(cell).Moved(cell); }
  // Of that cell all jobs are gone. REQUIRES: dropped.
  void Forget(Cell& cell);

  // What comes first for workers of that kind, and is not blocked. Without a gate nothing is.
  Choice Pick(Bit kind, StartGate* gate, Rng* rng);
  // The last Pick() met too many blocked cells, and gave up: asked again, it goes on.
  bool unfinished() const { return unfinished_; }
  std::size_t moved() const { return moved_; }
  // Groups that stand apart, and that it asked about.
  std::size_t asked() const { return asked_; }
  // In one pick, of those that are blocked, and of those whose values are full or have another level; tests lower them.
  static inline std::size_t most_moved = 256;
  static inline std::size_t most_shifted = 1000;

  // The group is not blocked everywhere any more.
  void Open(std::uint32_t group);
  // Adds the bits of the group's tree to `out`.
  void AddMask(std::uint32_t group, std::uint64_t* out) const;
  // Adds to `out` groups that stand apart and have something for that kind, blocked or not: of so many that are looked
  // at, and of others the next time.
  void AddAside(Bit kind, std::size_t most, std::vector<std::uint32_t>& out);
  // The group goes back to the main tree; in Step().
  void Join(std::uint32_t group);
  // Groups that were opened, and that no pick has found to be held since, on its worker or on any; these go back, too.
  std::size_t opened() const { return opened_; }
  void JoinOpened();
  bool Joining() const { return !joining_.empty(); }
  // Takes what it did from the budget; true if all that was to join has.
  bool Step(std::size_t& budget);

  void RefreshBit(Bit bit);
  // Throws the trees away and makes them anew, for masks of another width. All cells are to be put again.
  void Rebuild();
  bool Shrink(std::size_t& budget);
  std::size_t MemoryBytes() const;

 private:
  struct Side {
    std::uint32_t group = 0;
    std::unique_ptr<View> root;
    std::vector<Cell*> cells;
    // Its place among those, or kNone.
    std::uint32_t active = kNone;   // that a pick asks
    std::uint32_t joining = kNone;  // of which new cells go to the main tree
    bool opened = false;
  };
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  // More than so many at a time are asked closely.
  static constexpr std::size_t kFewActive = 8;
  Choice PickAmong(Bit kind, StartGate* gate, Rng* rng);
  View& TreeOf(const Cell& cell) { return cell.side == 0 ? *root_ : *sides_[cell.side - 1]->root; }
  void Leave(Cell& cell);
  void MoveAside(Cell& cell, StartGate::Blocked blocked);
  void SetOpened(Side& side, bool opened);
  // Into a list of sides, or out of it.
  void Enlist(std::vector<std::uint32_t>& list, std::uint32_t Side::*place, std::uint32_t at);
  void Delist(std::vector<std::uint32_t>& list, std::uint32_t Side::*place, std::uint32_t at);

  const Plan& plan_;
  ViewContext& context_;
  std::unique_ptr<View> root_;
  std::vector<std::unique_ptr<Side>> sides_;  // a cell of side n is in the one before n; null: free
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_group_;
  std::vector<std::uint32_t> active_, joining_;  // places in sides_
  std::size_t opened_ = 0;
  std::size_t aside_ = 0;  // the side that was visited last
  bool unfinished_ = false;
  std::size_t moved_ = 0, asked_ = 0;  // in the last Pick()
};

}  // namespace allot::order

// SPDX-License-Identifier: Apache-2.0
// How much of what concerns all orders a command may do. Whatever concerns a job is applied to every order: so where
// there are many, a command does little, and the rest follows.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <algorithm>
#include <cstddef>

namespace allot {

class UpdateBudget {
 public:
  // A command begins: so many updates, and so many cells may be looked at when verdicts of kinds change; those of
  // larger indices are then looked at in steps (OrderGroups::Step).
  void BeginCommand() {
    looks_ = looks_at_once;
    updates_left_ = updates_at_once;
  }
  // Half of what a command may apply is for jobs that open and tasks that return, which may be applied later, and all
  // of it for starts.
  bool MayUpdate() const { return cost_ == 0 || 2 * updates_left_ >= updates_at_once; }
  bool MayStart() const { return cost_ == 0 || updates_left_ > 0; }
  // What a change of a job costs in all orders, in about a microsecond; 0: there is one order alone.
  std::size_t cost() const { return cost_; }
  void SetCost(std::size_t cost) { cost_ = cost; }
  void Charge(std::size_t cost) { updates_left_ -= std::min(updates_left_, cost); }
  std::size_t& looks() { return looks_; }

  static inline std::size_t updates_at_once = 2000;  // tests lower it
  static inline std::size_t looks_at_once = 65'536;  // tests lower it

 private:
  std::size_t looks_ = looks_at_once;
  std::size_t updates_left_ = updates_at_once;
  std::size_t cost_ = 0;
};

}  // namespace allot

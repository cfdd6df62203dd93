// SPDX-License-Identifier: Apache-2.0
// For blocks with one view below.
#pragma once

#include <memory>

#include "strategy/index/views.h"

namespace allot::order {

// Passes everything on to the view below; what differs is overridden.
class Wrapper : public View {
 public:
  Wrapper(const Plan& plan, ViewContext& context)
      : plan_(plan), context_(context), below_(MakeView(*plan.inner.front(), context)) {}
  bool Put(Cell& cell) override { return below_->Put(cell); }
  void Drop(Cell& cell) override { below_->Drop(cell); }
  void Moved(Cell& cell) override { below_->Moved(cell); }
  Choice Pick(Bit bit, Rng* rng) override { return below_->Pick(bit, rng); }
  void AddMask(std::uint64_t* out) const override { below_->AddMask(out); }
  bool Empty() const override { return below_->Empty(); }
  void RefreshBit(Bit bit) override { below_->RefreshBit(bit); }
  bool Shrink(std::size_t& budget) override { return below_->Shrink(budget); }
  std::size_t MemoryBytes() const override { return sizeof(*this) + below_->MemoryBytes(); }

 protected:
  const Plan& plan_;
  ViewContext& context_;
  std::unique_ptr<View> below_;
};

}  // namespace allot::order

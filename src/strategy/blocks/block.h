// SPDX-License-Identifier: Apache-2.0
// A block of the strategy language as an object: how it is written, what it passes, how it compares, how it traces and
// describes itself. Parser, printer, index, a worker's own order, offer, trace and demand ask here, and name no
// block themselves. (Preview does not: it is the plain reading of the rules that all of this is compared with.)
//
// What is asked once a strategy, or once for each block that a pick goes through, is a virtual function. What is asked
// for each comparison is not: a block says in its traits in which of a few ways it passes and compares, and the index
// knows these by heart. A block for which none of them will do brings its own, at the price of that call.
//
// Threading: blocks are constant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "strategy/strategy.h"

namespace allot {

struct PreviewStep;
struct TracedPick;
class TraceReader;
namespace order {
struct JobOrder;
struct Plan;
struct ViewContext;
class View;
}  // namespace order

// Which jobs a block lets through to what is inside.
enum class Passes : std::uint8_t {
  kAll,
  kWanted,    // of its value
  kBelowMax,  // of values that have fewer running tasks than its maximum
  kBranches,  // that one of its branches does
  kOwn,       // PassesValue() says which
};

// Which of two jobs that it passes comes first.
enum class Compares : std::uint8_t {
  kInside,     // what is inside says
  kHead,       // the one that does in its order
  kChance,     // either: one is drawn
  kLevel,      // of the lower level, which is running / max; of equals, what is inside says. So with those below
  kFairGroup,  // of the value whose fair group has less
  kBranches,   // of the earlier branch
  kRank,       // that the worker ranks higher
  kOwn,        // CompareValues() says
};

class Block {
 public:
  // What a block is, for those who go by it rather than ask.
  struct Traits {
    // --- How it is written. A key and the strategy inside follow from its shape.
    enum class Max : std::uint8_t { kNone, kOptional, kRequired };
    bool value = false;  // key = value
    Max max = Max::kNone;
    bool percent = false;                              // its maximum may be a percentage
    std::string_view remaining = "of its jobs: ";      // what the step inside works on, in a description
    std::span<const std::string_view> elsewhere = {};  // what other systems call it, in small letters without `_`
    // --- What it does.
    Passes passes = Passes::kAll;
    Compares compares = Compares::kInside;
    bool served = false;                     // it must be known when values were served last
    const order::JobOrder* order = nullptr;  // of one that stands innermost: how it orders jobs; null: it draws
  };

  explicit Block(const Traits& traits) : traits_(traits) {}
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Traits& traits() const { return traits_; }

  // What it will do, and what it did in that step, in words; `now` for how long ago.
  virtual std::string Describe(const Strategy& node) const = 0;
  virtual std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime now) const = 0;

  // Itself as a live structure over cells. Both outlive it.
  virtual std::unique_ptr<order::View> MakeView(const order::Plan& plan, order::ViewContext& context) const = 0;

  // Writes at `out` what it looked at for a pick, and sets `inside` to the block there that it came from, if any. Gives
  // the end of what it wrote; null: `end` is too near. There is room for kMostTracedBlock bytes and no text.
  virtual char* WriteTrace(const TracedPick& pick, const order::Plan& plan, const order::Plan*& inside, char* out,
                           const char* end) const = 0;
  // Reads the same, into `step`.
  virtual void ReadTrace(const Strategy& node, TraceReader& in, PreviewStep& step) const = 0;

  // Of one that has a key: does it pass jobs with that value; and which of two values comes first: below 0 the first, 0
  // if what is inside decides. Asked where its traits say kOwn. Of a value that has not changed the answer is the same.
  virtual bool PassesValue(const order::Plan& plan, const order::ViewContext& context, std::uint32_t value) const;
  virtual int CompareValues(const order::Plan& plan, const order::ViewContext& context, std::uint32_t a,
                            std::uint32_t b) const;

 private:
  const Traits traits_;
};

const Block& BlockOf(Strategy::Kind kind);
inline const Block& BlockOf(const Strategy& strategy) { return BlockOf(strategy.kind); }

// Each of these is in the block's own file.
namespace blocks {
#define ALLOT_BLOCK(name, word, shape) const Block& name();
ALLOT_STRATEGY_BLOCKS(ALLOT_BLOCK)
#undef ALLOT_BLOCK
}  // namespace blocks

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// What blocks write into a trace, and read from it: plain records, one behind the other, from the outside in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bounds.h"
#include "base/check.h"
#include "strategy/index/views.h"
#include "strategy/trace.h"

namespace allot::tracing {

struct Value {
  std::int64_t served = 0;  // or when its first waiting job was submitted, if never
  std::uint32_t running = 0;
  std::uint32_t weight = 1;
  std::uint16_t text = 0;  // bytes, which follow; 0: the job has none
  bool never = false;
};
using Slots = std::uint64_t;
using Branch = std::uint8_t;
static_assert(bounds::kMaxStrategyNodes <= 256);
struct Rank {
  double rank = 0;
  bool ranked = false;
};
struct Order {
  std::int64_t first = 0;   // priority, or when it was submitted
  std::int64_t second = 0;  // scheduled, or when it was picked
  bool has = false;         // a priority, or been picked
};
using Draw = std::uint64_t;

// What a block may write without a look at `end`: its texts apart.
inline constexpr std::size_t kMostTracedBlock = sizeof(Value) + sizeof(Slots);
static_assert(kMostTracedBlock >= std::max({sizeof(Rank), sizeof(Order), sizeof(Draw)}));
// All blocks of a policy and of a strategy inside one another.
inline constexpr std::ptrdiff_t kBlocksRoom = (2 * bounds::kMaxStrategyDepth + 1) * kMostTracedBlock;

template <typename T>
char* Put(char* out, const T& what) {
  std::memcpy(out, &what, sizeof(what));
  return out + sizeof(what);
}

// The value that the job has under the block's key, and if it has a percentage, of how many slots.
inline char* PutValue(const order::Plan& plan, const TracedPick& pick, char* out, const char* end) {
  const order::ViewContext& context = *pick.rules.context;
  const ValueTable::Value& value = context.values.GetOf(context.keys[plan.key], pick.job);
  const std::size_t text = std::min(value.text.size(), kMostTracedText);
  if (end - out < kBlocksRoom + static_cast<std::ptrdiff_t>(text)) return nullptr;
  const bool never = value.served.serial == 0;
  out = Put(out, Value{never ? value.first.second : value.served.ms, value.running, value.weight,
                       static_cast<std::uint16_t>(text), never});
  out = CopyText(value.text.data(), text, out);
  return plan.percent ? Put(out, Slots{context.slots}) : out;
}

}  // namespace allot::tracing

namespace allot {

class TraceReader {
 public:
  explicit TraceReader(std::string_view trace) : trace_(trace) {}
  template <typename T>
  T Get() {
    T what;
    std::memcpy(&what, Text(sizeof(T)).data(), sizeof(T));
    return what;
  }
  std::string_view Text(std::size_t bytes) {
    CHECK(trace_.size() >= bytes);
    const std::string_view text = trace_.substr(0, bytes);
    trace_.remove_prefix(bytes);
    return text;
  }

 private:
  std::string_view trace_;
};

namespace tracing {

// What PutValue() wrote: sets value, running, and of a percentage percent and slots.
inline Value GetValue(const Strategy& node, TraceReader& in, PreviewStep& step) {
  const auto value = in.Get<Value>();
  if (value.text > 0) step.value = std::string(in.Text(value.text));
  step.running = value.running;
  if (node.percent) {
    step.percent = node.max;
    step.slots = in.Get<Slots>();
  }
  return value;
}

}  // namespace tracing
}  // namespace allot

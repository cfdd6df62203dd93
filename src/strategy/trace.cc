#include "strategy/trace.h"

#include <algorithm>
#include <cstring>

#include "base/bounds.h"
#include "base/check.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;
using order::Plan;

// What follows one another in a trace, block by block from the outside in: a Value (and its text) for a block with a
// key, but for select_only, and behind it Slots where it has a percentage; a Branch for or_else; a Rank for `worker`;
// an Order, or for `random` a Draw, for the leaf.
struct Value {
  std::int64_t served = 0;  // or when its first waiting job was submitted, if never
  std::uint32_t running = 0;
  std::uint32_t weight = 1;
  std::uint16_t text = 0;  // bytes; 0: the job has none
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

template <typename T>
void Put(char*& out, const T& what) {
  std::memcpy(out, &what, sizeof(what));
  out += sizeof(what);
}

// All blocks of a policy and of a strategy inside one another, but for texts.
constexpr std::ptrdiff_t kBlocksRoom = (2 * bounds::kMaxStrategyDepth + 1) * (sizeof(Value) + sizeof(Slots));
static_assert(sizeof(Value) + sizeof(Slots) >= std::max({sizeof(Rank), sizeof(Order), sizeof(Draw)}));

bool PutValue(const Plan& plan, const TracedPick& pick, char*& out, const char* end) {
  const order::Shared& shared = *pick.rules.shared;
  const ValueTable::Value& value = shared.values.GetOf(shared.keys[plan.key], pick.job);
  const std::size_t text = std::min(value.text.size(), kMostTracedText);
  if (end - out < kBlocksRoom + static_cast<std::ptrdiff_t>(text)) return false;
  const bool never = value.served.serial == 0;
  Put(out, Value{never ? value.first.second : value.served.ms, value.leased, value.weight,
                 static_cast<std::uint16_t>(text), never});
  out = CopyText(value.text.data(), text, out);
  if (plan.percent) Put(out, Slots{shared.slots});
  return true;
}

}  // namespace

char* WriteTrace(const TracedPick& pick, char* out, const char* end) {
  const Plan* plan = pick.rules.plan;
  if (end - out < kBlocksRoom) return nullptr;
  while (!plan->inner.empty()) {
    std::size_t branch = 0;
    switch (plan->kind) {
      case Kind::kOrElse:
        while (!plan->inner[branch]->Has(pick.leaf)) ++branch;
        Put(out, static_cast<Branch>(branch));
        break;
      case Kind::kWorker:
        Put(out, Rank{pick.ranked ? pick.rules.shared->verdicts.WorkerRank(pick.kind, pick.job.cls) : 0, pick.ranked});
        break;
      case Kind::kSelectOnly:
        break;
      default:
        if (!PutValue(*plan, pick, out, end)) return nullptr;
    }
    plan = plan->inner[branch].get();
  }
  const PickJob& job = pick.job;
  switch (plan->kind) {
    case Kind::kRandom:
      Put(out, Draw{pick.candidates});
      break;
    case Kind::kPriority:
      Put(out, Order{job.key.priority, ToMillis(job.key.scheduled_for), !job.key.no_priority});
      break;
    default:
      Put(out, Order{ToMillis(job.submitted_at), job.picked.ms, job.picked.serial != 0});
  }
  return out;
}

// --- Reading.

namespace {

class Reader {
 public:
  explicit Reader(std::string_view trace) : trace_(trace) {}
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

void ReadValue(const Strategy& block, Reader& in, PreviewStep& step) {
  const auto value = in.Get<Value>();
  if (value.text > 0) step.value = std::string(in.Text(value.text));
  step.running = value.running;
  if (block.percent) {
    step.percent = block.max;
    step.slots = in.Get<Slots>();
  }
  if (block.kind == Kind::kFair) {
    step.weight = value.weight;
    step.served = PreviewMoment{value.served, 0, value.never};
    return;
  }
  step.max = order::MaxOf(block.max, block.percent, step.slots.value_or(0));
  if (block.kind == Kind::kPreferDistinct) step.level = step.value ? value.running / *step.max : 0;
}

void ReadLeaf(const Strategy& block, Reader& in, PreviewStep& step) {
  if (block.kind == Kind::kRandom) {
    step.candidates = in.Get<Draw>();
    return;
  }
  const auto order = in.Get<Order>();
  if (block.kind == Kind::kPriority) {
    if (order.has) step.priority = order.first;
    step.scheduled = order.second;
  } else if (block.kind == Kind::kLeastRecent) {
    step.picked = PreviewMoment{order.has ? order.second : order.first, 0, !order.has};
  } else {
    step.submitted = order.first;
  }
}

}  // namespace

std::vector<PreviewStep> ReadTrace(const StrategyPair& strategies, std::string_view trace, WallTime now) {
  Reader in(trace);
  std::vector<PreviewStep> steps;
  bool own = false;
  const Strategy* next = nullptr;
  for (const Strategy* block = strategies.policy.get(); block != nullptr; block = next) {
    next = block->inner.empty() ? nullptr : block->inner.front().get();
    PreviewStep step;
    step.block = block->kind;
    step.own = own;
    bool told = true;
    if (block->keyed()) step.key = block->key;
    switch (block->kind) {
      case Kind::kOrElse:
        step.branch = in.Get<Branch>() + 1u;
        step.branches = static_cast<std::uint32_t>(block->inner.size());
        next = block->inner.at(step.branch - 1).get();
        break;
      case Kind::kWorker: {
        const auto rank = in.Get<Rank>();
        if (rank.ranked) step.rank = rank.rank;
        // That there is neither policy nor rank need not be told.
        told = block != strategies.policy.get() || rank.ranked;
        own = true;
        next = strategies.worker.get();
        break;
      }
      case Kind::kSelectOnly:
        step.value = TextOf(block->value);
        break;
      case Kind::kPreferDistinct:
      case Kind::kMaxSimultaneous:
      case Kind::kFair:
        ReadValue(*block, in, step);
        break;
      default:
        ReadLeaf(*block, in, step);
    }
    if (!told) continue;
    step.text = DescribeStep(*block, step, now);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace allot

#include "strategy/preview.h"

#include <algorithm>

#include "base/check.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;

// Serials of picks: above all that were ever granted.
constexpr std::uint64_t kPickSerial = std::uint64_t{1} << 63;
// After so many jobs it is asked whether that is enough.
constexpr std::uint32_t kJobsBetweenAsking = 1 << 16;

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

Preview::Preview(Options options) : options_(std::move(options)), rng_(options_.seed) {
  if (!options_.policy) options_.policy = DefaultPolicy();
  if (!options_.worker) options_.worker = DefaultStrategy();
  root_ = Compile(*options_.policy, false);
}

Preview::~Preview() = default;

// --- The strategy.

std::size_t Preview::ColumnOf(const Strategy& block) {
  const bool has_tag = block.kind == Kind::kSelectOnly && block.key.kind == StrategyKey::Kind::kTag;
  const std::string tag = has_tag ? std::get<std::string>(block.value) : std::string();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].key == block.key && columns_[i].tag == tag) return i;
  }
  columns_.emplace_back();
  columns_.back().key = block.key;
  columns_.back().tag = tag;
  return columns_.size() - 1;
}

Preview::Node Preview::Compile(const Strategy& strategy, bool own) {
  Node node;
  node.block = &strategy;
  node.own = own;
  node.max = strategy.percent ? std::max<std::uint64_t>(1, options_.slots * strategy.max / 100) : strategy.max;
  if (strategy.keyed()) node.column = ColumnOf(strategy);
  if (strategy.kind == Kind::kSelectOnly) {
    Column& column = columns_[node.column];
    node.wanted = Intern(column, column.tag.empty() ? *TextOf(strategy.value) : "btrue");
  }
  for (const StrategyPtr& inner : strategy.inner) node.inner.push_back(Compile(*inner, own));
  if (strategy.kind == Kind::kWorker) {
    CHECK(!own);
    node.inner.push_back(Compile(*options_.worker, true));
  }
  return node;
}

// --- Jobs.

std::uint32_t Preview::Intern(Column& column, const std::string& text) const {
  const auto [it, fresh] = column.ids.try_emplace(text, static_cast<std::uint32_t>(column.values.size()));
  if (fresh) {
    Value& value = column.values.emplace_back();
    value.text = &it->first;
    if (!options_.weights.empty()) {
      const auto weight = options_.weights.find(WeightName(column.key, std::string_view(text).substr(1)));
      if (weight != options_.weights.end()) value.weight = weight->second;
    }
  }
  return it->second;
}

void Preview::Know(const JobKeys& keys, const PickJob& job, std::optional<double> rank, const ValueTable* memory) {
  const bool may = job.open && rank;
  const bool told = job.open || job.leased > 0 || job.picked.serial != 0;
  if (!told) return;
  row_.clear();
  for (Column& column : columns_) {
    // Nothing but the job itself has that value.
    if (!may && column.key.kind == StrategyKey::Kind::kJob) continue;
    GroupText text;
    if (column.tag.empty()) {
      text = keys.Get(job, column.key);
    } else if (keys.HasTag(job, column.tag)) {
      text = "btrue";
    }
    const std::uint32_t id = text ? Intern(column, *text) : 0;
    Value& value = column.values[id];
    if (memory != nullptr && !value.remembered) {
      value.remembered = true;
      const Stamp before = memory->LastServed(column.key, text);
      if (before.serial > value.served.serial) value.served = before;
    }
    value.leased += job.leased;
    if (job.picked.serial > value.served.serial) value.served = job.picked;
    if (job.open && (value.first.value == 0 || job.id() < value.first)) {
      value.first = job.id();
      value.first_submitted = ToMillis(job.submitted_at);
    }
    row_.push_back(id);
  }
  if (!may) return;
  jobs_.push_back(Job{job.key, job.picked, ToMillis(job.submitted_at), *rank, 0});
  ready_.push_back(job.ready);
  values_.insert(values_.end(), row_.begin(), row_.end());
  tasks_ += job.ready;
  ranked_ = ranked_ || *rank != 0;
}

// --- Picking.

bool Preview::Admits(const Node& node, Place job) const {
  switch (node.block->kind) {
    case Kind::kSelectOnly:
      return values_[job * columns_.size() + node.column] == node.wanted && Admits(node.inner[0], job);
    case Kind::kMaxSimultaneous: {
      const Value& value = ValueOf(node, job);
      return (value.text == nullptr || value.leased < node.max) && Admits(node.inner[0], job);
    }
    case Kind::kPreferDistinct:
    case Kind::kFair:
    case Kind::kWorker:
      return Admits(node.inner[0], job);
    case Kind::kOrElse:
      return BranchOf(node, job) < node.inner.size();
    default:
      return true;
  }
}

std::size_t Preview::BranchOf(const Node& node, Place job) const {
  std::size_t branch = 0;
  while (branch < node.inner.size() && !Admits(node.inner[branch], job)) ++branch;
  return branch;
}

int Preview::Compare(const Node& node, Place a, Place b) const {
  switch (node.block->kind) {
    case Kind::kRandom:
      return 0;
    case Kind::kOldest:
      return Order(jobs_[a].key.id, jobs_[b].key.id);
    case Kind::kNewest:
      return Order(jobs_[b].key.id, jobs_[a].key.id);
    case Kind::kPriority:
      return Order(jobs_[a].key, jobs_[b].key);
    case Kind::kLeastRecent: {
      const auto recent = [](const Job& job) { return job.picked.serial != 0 ? job.picked : Stamp{job.submitted, 0}; };
      const int order = Order(recent(jobs_[a]), recent(jobs_[b]));
      return order != 0 ? order : Order(jobs_[a].key.id, jobs_[b].key.id);
    }
    case Kind::kSelectOnly:
    case Kind::kMaxSimultaneous:
      return Compare(node.inner[0], a, b);
    case Kind::kPreferDistinct: {
      const auto level = [&](const Value& value) { return value.text == nullptr ? 0 : value.leased / node.max; };
      const int order = Order(level(ValueOf(node, a)), level(ValueOf(node, b)));
      return order != 0 ? order : Compare(node.inner[0], a, b);
    }
    case Kind::kFair: {
      const Value& x = ValueOf(node, a);
      const Value& y = ValueOf(node, b);
      if (&x == &y) return Compare(node.inner[0], a, b);
      if (const int order = Order(x.leased * y.weight, y.leased * x.weight); order != 0) return order;
      if (const int order = Order(x.Served(), y.Served()); order != 0) return order;
      if (x.text == nullptr || y.text == nullptr) return x.text == nullptr ? -1 : 1;
      return x.text->compare(*y.text);
    }
    case Kind::kOrElse: {
      const std::size_t x = BranchOf(node, a);
      const std::size_t y = BranchOf(node, b);
      return x != y ? Order(x, y) : Compare(node.inner[x], a, b);
    }
    case Kind::kWorker: {
      const int order = Order(jobs_[b].rank, jobs_[a].rank);
      return order != 0 ? order : Compare(node.inner[0], a, b);
    }
  }
  return 0;
}

std::vector<Preview::Place> Preview::First(bool& random) const {
  random = false;
  const auto count = static_cast<Place>(jobs_.size());
  std::optional<Place> best;
  bool chance = false;  // is there another one beside it?
  for (Place job = 0; job < count; ++job) {
    if (job % kJobsBetweenAsking == 0 && options_.enough && options_.enough()) {
      stopped_ = true;
      return {};
    }
    if (ready_[job] == 0 || !Admits(root_, job)) continue;
    const int order = best ? Compare(root_, job, *best) : -1;
    if (order > 0) continue;
    chance = order == 0;
    if (order < 0) best = job;
  }
  if (!best) return {};
  const Node* leaf = &root_;
  while (!leaf->inner.empty()) {
    leaf = &leaf->inner[leaf->block->kind == Kind::kOrElse ? BranchOf(*leaf, *best) : 0];
  }
  random = leaf->block->kind == Kind::kRandom;
  if (!chance) return {*best};
  std::vector<Place> found;
  for (Place job = *best; job < count; ++job) {
    if (ready_[job] > 0 && Admits(root_, job) && Compare(root_, job, *best) == 0) found.push_back(job);
  }
  return found;
}

std::vector<JobId> Preview::Allowed(bool& random) const {
  std::vector<JobId> ids;
  for (const Place job : First(random)) ids.push_back(jobs_[job].key.id);
  return ids;
}

void Preview::Take(Place job) {
  const Stamp at{ToMillis(options_.now), kPickSerial + ++picks_};
  --ready_[job];
  --tasks_;
  ++jobs_[job].taken;
  jobs_[job].picked = at;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Value& value = columns_[i].values[values_[job * columns_.size() + i]];
    ++value.leased;
    value.served = at;
  }
}

std::optional<PreviewPick> Preview::Next() {
  bool random = false;
  const std::vector<Place> first = First(random);
  if (first.empty()) return std::nullopt;
  std::uint64_t tasks = 0;
  for (const Place job : first) tasks += ready_[job];
  Place chosen = first.front();
  if (random) {
    std::uint64_t point = rng_.Below(tasks);
    for (const Place job : first) {
      chosen = job;
      if (point < ready_[job]) break;
      point -= ready_[job];
    }
  }
  PreviewPick pick{jobs_[chosen].key.id, jobs_[chosen].taken, random, Why(chosen, tasks)};
  Take(chosen);
  return pick;
}

// --- Why.

PreviewMoment Preview::Moment(const Stamp& stamp, std::int64_t otherwise) const {
  if (stamp.serial == 0) return {otherwise, 0, true};
  return {stamp.ms, stamp.serial > kPickSerial ? static_cast<std::uint32_t>(stamp.serial - kPickSerial) : 0, false};
}

std::vector<PreviewStep> Preview::Why(Place place, std::uint64_t candidates) const {
  const Job& job = jobs_[place];
  std::vector<PreviewStep> steps;
  const Node* next = nullptr;
  for (const Node* node = &root_; node != nullptr; node = next) {
    const Strategy& block = *node->block;
    next = node->inner.empty() ? nullptr : &node->inner[0];
    PreviewStep step;
    step.block = block.kind;
    step.own = node->own;
    if (block.keyed()) {
      const Value& value = ValueOf(*node, place);
      step.key = block.key;
      if (value.text != nullptr) step.value = columns_[node->column].tag.empty() ? *value.text : *TextOf(block.value);
      if (block.kind != Kind::kSelectOnly) step.running = value.leased;
      if (block.kind == Kind::kPreferDistinct || block.kind == Kind::kMaxSimultaneous) step.max = node->max;
      if (block.kind == Kind::kPreferDistinct) step.level = value.text == nullptr ? 0 : value.leased / node->max;
      if (block.kind == Kind::kFair) {
        step.weight = value.weight;
        step.served = Moment(value.served, value.first_submitted);
      }
      if (block.percent) {
        step.percent = block.max;
        step.slots = options_.slots;
      }
    }
    switch (block.kind) {
      case Kind::kOrElse: {
        const std::size_t branch = BranchOf(*node, place);
        step.branch = static_cast<std::uint32_t>(branch + 1);
        step.branches = static_cast<std::uint32_t>(node->inner.size());
        next = &node->inner[branch];
        break;
      }
      case Kind::kWorker:
        if (ranked_) step.rank = job.rank;
        // That there is neither policy nor rank need not be told.
        if (node == &root_ && !ranked_) continue;
        break;
      case Kind::kPriority:
        if (!job.key.no_priority) step.priority = job.key.priority;
        step.scheduled = ToMillis(job.key.scheduled_for);
        break;
      case Kind::kOldest:
      case Kind::kNewest:
        step.submitted = job.submitted;
        break;
      case Kind::kLeastRecent:
        step.picked = Moment(job.picked, job.submitted);
        break;
      case Kind::kRandom:
        step.candidates = candidates;
        break;
      default:
        break;
    }
    step.text = DescribeStep(block, step, options_.now);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "strategy/preview.h"

#include <algorithm>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/check.h"
#include "strategy/blocks/block.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;

// Serials of picks: above all that were ever granted.
constexpr std::uint64_t kPickSerial = std::uint64_t{1} << 63;
// After so many cells it is asked whether that is enough.
constexpr std::uint32_t kCellsBetweenAsking = 1 << 14;

template <typename T>
int ThreeWay(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

Preview::Preview(Options options) : options_(std::move(options)), rng_(options_.seed) {
  if (!options_.policy) options_.policy = DefaultPolicy();
  if (!options_.worker) options_.worker = DefaultStrategy();
  root_ = Compile(*options_.policy, false);
  width_ = columns_.size() + 2;
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
  if (strategy.leaf() && strategy.kind != Kind::kRandom &&
      std::find(orders_.begin(), orders_.end(), strategy.kind) == orders_.end()) {
    orders_.push_back(strategy.kind);
  }
  if (strategy.kind == Kind::kSelectOnly) {
    Column& column = columns_[node.column];
    node.wanted = Intern(column, column.tag.empty() ? *TextOf(strategy.value) : "btrue");
  }
  for (const StrategyPtr& inner : strategy.inner) node.inner.push_back(Compile(*inner, own));
  if (strategy.kind == Kind::kWorker) {
    CHECK(!own);
    node.inner.push_back(Compile(*options_.worker, true));
  }
  const bool may_block = strategy.kind == Kind::kSelectOnly || strategy.kind == Kind::kMaxSimultaneous;
  node.all = strategy.leaf() || (!may_block && std::any_of(node.inner.begin(), node.inner.end(),
                                                           [](const Node& inner) { return inner.all; }));
  return node;
}

// --- Jobs.

Preview::Ids::Ids() {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].max_load_factor(0.7f * (1 + static_cast<float>(i) / static_cast<float>(parts.size())));
  }
}

std::uint32_t Preview::Intern(Column& column, const std::string& text) const {
  auto& parts = column.ids->parts;
  auto& ids = parts[(std::hash<std::string>()(text) >> 32) % parts.size()];
  const auto [it, fresh] = ids.try_emplace(text, static_cast<std::uint32_t>(column.known.size()));
  if (fresh) {
    Value& value = column.known.emplace_back();
    value.text = &it->first;
    if (!options_.weights.empty()) {
      const auto weight = options_.weights.find(WeightName(column.key, std::string_view(text).substr(1)));
      if (weight != options_.weights.end()) value.weight = weight->second;
    }
  }
  return it->second;
}

void Preview::Expect(std::size_t jobs) {
  jobs_.reserve(jobs);
  rows_.reserve(jobs * width_);
}

std::size_t Preview::kept() const {
  std::size_t kept = jobs_.size();
  for (const Column& column : columns_) kept += column.known.size();
  return kept;
}

void Preview::Know(const JobKeys& keys, const PickJob& job, std::optional<double> rank, const ValueTable* memory,
                   std::uint32_t own, std::uint32_t group) {
  CHECK(!prepared_);
  const bool may = job.open && rank;
  const bool counted = job.open || job.running > 0 || job.picked.serial != 0;
  if (!counted) return;
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
    Value& value = column.known[id];
    if (memory != nullptr && !value.remembered) {
      value.remembered = true;
      const Stamp before = memory->LastServed(column.key, text);
      if (before.serial > value.served.serial) value.served = before;
    }
    value.running += job.running;
    if (job.picked.serial > value.served.serial) value.served = job.picked;
    if (job.open && (value.first.value == 0 || job.id() < value.first)) {
      value.first = job.id();
      value.first_submitted = ToMillis(job.submitted_at);
    }
    row_.push_back(id);
  }
  if (!may) return;
  const auto [it, fresh] = rank_ids_.try_emplace(*rank + 0.0, static_cast<std::uint32_t>(ranks_.size()));
  if (fresh) ranks_.push_back(it->first);
  row_.push_back(group);
  row_.push_back(it->second);
  jobs_.push_back(Job{job.key, job.picked, ToMillis(job.submitted_at), job.queued, std::min(own, job.queued), 0, 0});
  own_ = own_ || own > 0;  // of those that it may run
  rows_.insert(rows_.end(), row_.begin(), row_.end());
  tasks_ += job.queued;
}

// --- Cells.

void Preview::Prepare() {
  if (std::exchange(prepared_, true)) return;
  for (Column& column : columns_) {
    column.values.assign(column.known.begin(), column.known.end());
    column.known = {};
  }
  for (Job& job : jobs_) {
    if (own_) job.apart = std::exchange(job.queued, job.own) - job.own;
  }
  // Told apart by one value after the other.
  const auto count = static_cast<Place>(jobs_.size());
  std::vector<Place> cell_of(count, 0);
  Place cells = count == 0 ? 0 : 1;
  for (std::size_t i = 0; i < width_; ++i) {
    boost::unordered_flat_map<std::uint64_t, Place> ids;
    for (Place job = 0; job < count; ++job) {
      const std::uint64_t pair = std::uint64_t{cell_of[job]} << 32 | rows_[job * width_ + i];
      cell_of[job] = ids.try_emplace(pair, static_cast<Place>(ids.size())).first->second;
    }
    if (count > 0) cells = static_cast<Place>(ids.size());
  }
  cells_.resize(cells);
  for (const Place cell : cell_of) ++cells_[cell].end;
  for (std::uint32_t begin = 0; Cell & cell : cells_) {
    cell.begin = begin;
    begin += cell.end;
    cell.end = cell.begin;
  }
  by_cell_.resize(count);
  std::vector<std::uint32_t> rows(cells * width_);
  for (Place job = 0; job < count; ++job) {
    Cell& cell = cells_[cell_of[job]];
    if (cell.begin == cell.end) {
      std::copy_n(&rows_[job * width_], width_, &rows[cell_of[job] * width_]);
      cell.rank = rows_[job * width_ + width_ - 1];
      cell.group = rows_[job * width_ + width_ - 2];
    }
    by_cell_[cell.end++] = job;
    cell.queued += jobs_[job].queued;
  }
  rows_ = std::move(rows);
  for (Cell& cell : cells_) FindFirst(cell);
}

bool Preview::Before(Kind order, const Job& a, const Job& b) const {
  switch (order) {
    case Kind::kOldest:
      return a.key.id < b.key.id;
    case Kind::kNewest:
      return b.key.id < a.key.id;
    case Kind::kPriority:
      return a.key < b.key;
    default: {
      const auto recent = [](const Job& job) { return job.picked.serial != 0 ? job.picked : Stamp{job.submitted, 0}; };
      const Stamp x = recent(a);
      const Stamp y = recent(b);
      return x != y ? x < y : a.key.id < b.key.id;
    }
  }
}

void Preview::FindFirst(Cell& cell) {
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    Place first = kNone;
    for (std::uint32_t at = cell.begin; at < cell.end; ++at) {
      const Place job = by_cell_[at];
      if (jobs_[job].queued > 0 && (first == kNone || Before(orders_[i], jobs_[job], jobs_[first]))) first = job;
    }
    cell.first[i] = first;
  }
}

// --- Picking.

bool Preview::Admits(const Node& node, Place cell) const {
  if (node.all) return true;
  switch (node.block->kind) {
    case Kind::kSelectOnly:
      return rows_[cell * width_ + node.column] == node.wanted && Admits(node.inner[0], cell);
    case Kind::kMaxSimultaneous: {
      const Value& value = ValueOf(node, cell);
      return (value.text == nullptr || value.running < node.max) && Admits(node.inner[0], cell);
    }
    case Kind::kOrElse:
      return BranchOf(node, cell) < node.inner.size();
    default:
      return Admits(node.inner[0], cell);
  }
}

std::size_t Preview::BranchOf(const Node& node, Place cell) const {
  std::size_t branch = 0;
  while (branch < node.inner.size() && !Admits(node.inner[branch], cell)) ++branch;
  return branch;
}

int Preview::Compare(const Node& node, Place a, Place b) const {
  switch (node.block->kind) {
    case Kind::kRandom:
      return 0;
    case Kind::kOldest:
    case Kind::kNewest:
    case Kind::kPriority:
    case Kind::kLeastRecent: {
      const auto order =
          static_cast<std::size_t>(std::find(orders_.begin(), orders_.end(), node.block->kind) - orders_.begin());
      return Before(node.block->kind, jobs_[cells_[a].first[order]], jobs_[cells_[b].first[order]]) ? -1 : 1;
    }
    case Kind::kSelectOnly:
    case Kind::kMaxSimultaneous:
      return Compare(node.inner[0], a, b);
    case Kind::kPreferDistinct: {
      const auto level = [&](const Value& value) { return value.text == nullptr ? 0 : value.running / node.max; };
      const int order = ThreeWay(level(ValueOf(node, a)), level(ValueOf(node, b)));
      return order != 0 ? order : Compare(node.inner[0], a, b);
    }
    case Kind::kFair: {
      const Value& x = ValueOf(node, a);
      const Value& y = ValueOf(node, b);
      if (&x == &y) return Compare(node.inner[0], a, b);
      if (const int order = ThreeWay(x.running * y.weight, y.running * x.weight); order != 0) return order;
      if (const int order = ThreeWay(x.Served(), y.Served()); order != 0) return order;
      if (x.text == nullptr || y.text == nullptr) return x.text == nullptr ? -1 : 1;
      return x.text->compare(*y.text);
    }
    case Kind::kOrElse: {
      const std::size_t x = BranchOf(node, a);
      const std::size_t y = BranchOf(node, b);
      return x != y ? ThreeWay(x, y) : Compare(node.inner[x], a, b);
    }
    case Kind::kWorker: {
      const int order = ThreeWay(ranks_[cells_[b].rank], ranks_[cells_[a].rank]);
      return order != 0 ? order : Compare(node.inner[0], a, b);
    }
  }
  return 0;
}

void Preview::LeaveOwn() {
  own_ = false;
  for (Cell& cell : cells_) {
    for (std::uint32_t at = cell.begin; at < cell.end; ++at) {
      Job& job = jobs_[by_cell_[at]];
      job.queued += job.apart;
      cell.queued += std::exchange(job.apart, 0);
    }
    FindFirst(cell);
  }
}

std::vector<Preview::Place> Preview::First(Kind& order) {
  Prepare();
  std::vector<Place> found = Look(order);
  if (!found.empty() || stopped_ || !own_) return found;
  LeaveOwn();
  return Look(order);
}

std::vector<Preview::Place> Preview::Look(Kind& order) {
  const auto count = static_cast<Place>(cells_.size());
  Place best = kNone;
  std::vector<Place> found;
  gated_ = false;
  for (Place cell = 0; cell < count; ++cell) {
    if (cell % kCellsBetweenAsking == 0 && options_.enough && options_.enough()) {
      stopped_ = true;
      return {};
    }
    if (cells_[cell].queued == 0 || !Admits(root_, cell)) continue;
    if (options_.gate != nullptr && cells_[cell].group != 0 && !options_.gate->Open(cells_[cell].group)) {
      gated_ = true;
      continue;
    }
    const int compared = best == kNone ? -1 : Compare(root_, cell, best);
    if (compared > 0) continue;
    if (compared < 0) {
      best = cell;
      found.clear();
    }
    found.push_back(cell);
  }
  if (best == kNone) return {};
  const Node* leaf = &root_;
  while (!leaf->inner.empty()) {
    leaf = &leaf->inner[leaf->block->kind == Kind::kOrElse ? BranchOf(*leaf, best) : 0];
  }
  order = leaf->block->kind;
  return found;
}

std::vector<JobId> Preview::Allowed(bool& random) {
  Kind order = Kind::kPriority;
  const std::vector<Place> cells = First(order);
  random = order == Kind::kRandom && !cells.empty();
  std::vector<JobId> ids;
  for (const Place place : cells) {
    const Cell& cell = cells_[place];
    for (std::uint32_t at = cell.begin; at < cell.end && random; ++at) {
      if (jobs_[by_cell_[at]].queued > 0) ids.push_back(jobs_[by_cell_[at]].key.id);
    }
    const auto used = static_cast<std::size_t>(std::find(orders_.begin(), orders_.end(), order) - orders_.begin());
    if (!random) ids.push_back(jobs_[cell.first[used]].key.id);
  }
  return ids;
}

Preview::Place Preview::Draw(const std::vector<Place>& cells, std::uint64_t tasks, Place& cell) {
  std::uint64_t point = rng_.Below(tasks);
  for (const Place place : cells) {
    cell = place;
    if (point < cells_[place].queued) break;
    point -= cells_[place].queued;
  }
  for (std::uint32_t at = cells_[cell].begin;; ++at) {
    const Place job = by_cell_[at];
    if (point < jobs_[job].queued) return job;
    point -= jobs_[job].queued;
  }
}

void Preview::Take(Place place, Place job) {
  const Job& picked = jobs_[job];
  const std::int64_t before = picked.picked.serial != 0 ? picked.picked.ms : picked.submitted;
  const Stamp at{std::max(ToMillis(options_.now), before), kPickSerial + ++picks_};
  Cell& cell = cells_[place];
  --jobs_[job].queued;
  --cell.queued;
  --tasks_;
  ++jobs_[job].taken;
  jobs_[job].picked = at;
  if (options_.gate != nullptr && cell.group != 0) options_.gate->Take(cell.group);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Value& value = columns_[i].values[rows_[place * width_ + i]];
    ++value.running;
    value.served = at;
  }
  FindFirst(cell);
}

std::optional<PreviewPick> Preview::Next() {
  Kind order = Kind::kPriority;
  const std::vector<Place> first = First(order);
  if (first.empty()) return std::nullopt;
  std::uint64_t tasks = 0;
  for (const Place cell : first) tasks += cells_[cell].queued;
  Place cell = first.front();
  const auto used = static_cast<std::size_t>(std::find(orders_.begin(), orders_.end(), order) - orders_.begin());
  const Place job = order == Kind::kRandom ? Draw(first, tasks, cell) : cells_[cell].first[used];
  PreviewPick pick{jobs_[job].key.id, jobs_[job].taken, order == Kind::kRandom, Why(cell, jobs_[job], tasks)};
  Take(cell, job);
  return pick;
}

// --- Why.

PreviewMoment Preview::Moment(const Stamp& stamp, std::int64_t otherwise) const {
  if (stamp.serial == 0) return {otherwise, 0, true};
  return {stamp.ms, stamp.serial > kPickSerial ? static_cast<std::uint32_t>(stamp.serial - kPickSerial) : 0, false};
}

std::vector<PreviewStep> Preview::Why(Place place, const Job& job, std::uint64_t candidates) const {
  const bool ranked = std::any_of(ranks_.begin(), ranks_.end(), [](double rank) { return rank != 0; });
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
      if (block.kind != Kind::kSelectOnly) step.running = value.running;
      if (block.kind == Kind::kPreferDistinct || block.kind == Kind::kMaxSimultaneous) step.max = node->max;
      if (block.kind == Kind::kPreferDistinct) step.level = value.text == nullptr ? 0 : value.running / node->max;
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
        if (ranked) step.rank = ranks_[cells_[place].rank];
        // That there is neither policy nor rank need not be told.
        if (node == &root_ && !ranked) continue;
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
    step.text = BlockOf(block).DescribeStep(block, step, options_.now);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace allot

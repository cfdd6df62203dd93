// SPDX-License-Identifier: Apache-2.0
#include "engine/tallies/blocked_reasons.h"

#include <algorithm>

namespace allot {
namespace {

// Sorts of workers that are looked at for one class. Where more differ and none of these can start a job, none is
// taken to.
constexpr std::size_t kMostSorts = 64;
// Keys that cells are told apart by, and classes of which it is kept what sorts of workers may run them.
constexpr std::size_t kMostKeys = 16;
constexpr std::size_t kMostClassesKept = 65'536;
// Different limits and ceilings that a walk counts apart, and how many of them are shown.
constexpr std::size_t kMostSeen = 1024;
constexpr std::size_t kMostHoldsShown = 5;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

}  // namespace

// --- Cells.

void BlockedReasons::RenewNow() {
  bool other = false;
  if (orders_seen_ != orders_.indices().changes()) {
    orders_seen_ = orders_.indices().changes();
    std::vector<KeyId> keys;
    for (Orders::Id id = 0; id < orders_.indices().ids(); ++id) {
      if (!orders_.indices().Ready(id)) continue;
      AddBlockingKeys(orders_.index(id).rules(), keys);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (keys.size() > kMostKeys) keys.resize(kMostKeys);
    // A number stands for the same key as long as it has been among them.
    other = keys != keys_;
    keys_ = std::move(keys);
  }
  const bool active = limits_.size() > 0 || !keys_.empty();
  other = other || active != active_;
  active_ = active;
  if (!other) return;
  ++epoch_;
  changed_ = stale_ = true;
}

void BlockedReasons::ValuesOf(const PickJob& job, Values& values) const {
  for (const KeyId key : keys_) values.push_back(orders_.indices().values().Of(key, job));
}

BlockedReasons::CellId BlockedReasons::Put(const PickJob& job, std::uint32_t tasks) {
  if (orders_seen_ != orders_.indices().changes()) Renew();
  if (!active_) return kNoCell;
  Values values;
  ValuesOf(job, values);
  std::uint64_t hash = Mix(Mix(Mix(0x51ED270B, epoch_), job.cls), job.group);
  for (const ValueId value : values) hash = Mix(hash, value);
  const auto [at, fresh] = by_hash_.try_emplace(hash, kNoCell);
  if (!fresh) {
    Cell& cell = cells_[at->second];
    // Two of one hash: whoever comes second is in none.
    if (cell.cls != job.cls || cell.group != job.group || cell.epoch != epoch_ || cell.values != values) return kNoCell;
    ++cell.jobs;
    cell.job = job.id();
    if (cell.blocked) Add(cell, 0, 1, 0);
    CountTasks(at->second, tasks);
    return at->second;
  }
  if (cells_in_use_ >= kMostCells) {
    by_hash_.erase(at);
    return kNoCell;
  }
  if (free_cells_.empty()) {
    free_cells_.push_back(static_cast<CellId>(cells_.size()));
    cells_.emplace_back();
  }
  const CellId id = free_cells_.back();
  free_cells_.pop_back();
  at->second = id;
  ++cells_in_use_;
  Cell& cell = cells_[id];
  cell.hash = hash;
  cell.tasks = tasks;
  cell.jobs = 1;
  cell.job = job.id();
  cell.cls = job.cls;
  cell.group = job.group;
  cell.epoch = epoch_;
  cell.values = std::move(values);
  changed_ = true;
  return id;
}

void BlockedReasons::Take(CellId id, JobId job, std::uint32_t tasks) {
  CountTasks(id, std::uint64_t{0} - tasks);
  Cell& cell = cells_[id];
  if (cell.job == job) cell.job = JobId{};
  if (cell.blocked) Add(cell, 0, -1, 0);
  if (--cell.jobs > 0) return;
  if (cell.blocked) Add(cell, 0, 0, -1);
  by_hash_.erase(cell.hash);
  cell = Cell{};
  free_cells_.push_back(id);
  --cells_in_use_;
}

void BlockedReasons::Add(const Cell& cell, std::uint64_t tasks, std::int64_t jobs, std::int64_t cells) {
  Sum& sum = sums_[static_cast<std::size_t>(cell.code)];
  sum.tasks += tasks;
  sum.jobs += static_cast<std::uint64_t>(jobs);
  sum.cells += static_cast<std::uint64_t>(cells);
  if (cell.cls >= of_class_.size()) of_class_.resize(cell.cls + 1);
  OfClass& of = of_class_[cell.cls];
  of.tasks += tasks;
  of.jobs += static_cast<std::uint32_t>(jobs);
}

// --- Workers.

void BlockedReasons::SetSorts(std::vector<Sort> sorts) {
  sorts_ = std::move(sorts);
  sorts_workers_ = workers_version_;
  sorts_moves_ = reasons_.moves();
  sorts_reads_ = limits_.worker_reads();
  sorts_of_.clear();
}

const BlockedReasons::Sorts& BlockedReasons::SortsOf(ClassId cls) {
  if (sorts_of_.size() >= kMostClassesKept) sorts_of_.clear();
  const auto [at, fresh] = sorts_of_.try_emplace(cls);
  if (!fresh) return at->second;
  Sorts& out = at->second;
  looks_ += 1 + sorts_.size() / 8;
  for (Sort sort : sorts_) {
    if (out.size() >= kMostSorts) break;
    if (!classes_.kinds().Matches(sort.kind, cls)) continue;
    sort.kind = 0;
    if (std::find(out.begin(), out.end(), sort) == out.end()) out.push_back(sort);
  }
  // Who has a free slot first: mostly that decides.
  std::stable_sort(out.begin(), out.end(), [](const Sort& a, const Sort& b) { return a.free && !b.free; });
  return out;
}

// --- Looking.

bool BlockedReasons::Gives(Orders::Id order, const Values* values, Offer& offer) const {
  // One that is being built gives nobody anything yet, and then perhaps this.
  if (values == nullptr || order >= orders_.indices().ids() || !orders_.indices().Ready(order)) return true;
  const StrategyIndex& index = orders_.index(order);
  const StrategyPair& pair = *index.strategies();
  bool known = true;
  offer = OfferOf(index.rules(), *pair.policy, *pair.worker, [&](KeyId key) {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    if (at == keys_.end() || *at != key) {
      known = false;
      return kNoValue;
    }
    return (*values)[static_cast<std::size_t>(at - keys_.begin())];
  });
  return offer.given() || !known;
}

BlockedReasons::Found BlockedReasons::LookAt(ClassId cls, GroupId group, const Values* values, const Now& now) {
  ++looks_;
  const ReasonCode base = reasons_.Look(cls);
  if (base != ReasonCode::kCanStart && base != ReasonCode::kAllBusy) return {};
  const Sorts& sorts = SortsOf(cls);
  if (sorts.empty()) return {};
  const bool handles = SortsUsable();  // those of workers that have left are of no use
  const bool limited = group != kFreeGroup && limits_.size() > 0;
  Found found;
  boost::container::small_vector<std::pair<Orders::Id, bool>, 4> asked;
  bool any_gives = false, free_gives = false, busy_could = false, never = true, unselected = true;
  for (const Sort& sort : sorts) {
    ++looks_;
    const auto known =
        std::find_if(asked.begin(), asked.end(), [&](const auto& one) { return one.first == sort.order; });
    bool gives = known != asked.end() && known->second;
    if (known == asked.end()) {
      ++looks_;
      Offer offer;
      gives = Gives(sort.order, values, offer);
      asked.emplace_back(sort.order, gives);
      if (!gives) {
        unselected = unselected && offer.unselected;
        for (const Ceiling& ceiling : offer.ceilings) {
          // What a strategy that is for others allows does not matter.
          if (!found.ceiling && !(ceiling.own && offer.unselected)) found.ceiling = ceiling;
        }
      }
    }
    if (!gives) continue;
    any_gives = true;
    free_gives = free_gives || sort.free;
    LimitLooks::BlockState state;
    if (limited) {
      state = limits_.looks().BlockStateOf(group, handles ? std::optional(sort.one) : std::nullopt, now);
      looks_ += state.asked;
    }
    if (state.limits == 0) {
      if (sort.free) return {};  // it can start
      busy_could = true;
      continue;
    }
    never = never && state.never;
    found.several = found.several || state.limits > 1 || (found.limit && *found.limit != state.longest);
    if (!found.limit) found.limit = state.longest;
  }
  if (!any_gives) {
    found.code = unselected ? ReasonCode::kNotSelected : ReasonCode::kMaxSimultaneous;
    found.blocked = true;
    return found;
  }
  found.ceiling.reset();
  if (busy_could && !free_gives) {
    found.code = ReasonCode::kAllBusy;
    found.blocked = base != ReasonCode::kAllBusy;
    found.limit.reset();
    return found;
  }
  found.code = never && !busy_could ? ReasonCode::kLimitNever : ReasonCode::kLimit;
  found.blocked = true;
  return found;
}

BlockedReasons::Found BlockedReasons::Look(const PickJob& job, const Now& now) {
  Values values;
  const bool known = orders_seen_ == orders_.indices().changes();
  if (known) ValuesOf(job, values);
  return LookAt(job.cls, job.group, known ? &values : nullptr, now);
}

void BlockedReasons::Look(Cell& cell, const Now& now) {
  cell.fresh = false;
  const bool known = cell.epoch == epoch_ && orders_seen_ == orders_.indices().changes();
  const Found found = LookAt(cell.cls, cell.group, known ? &cell.values : nullptr, now);
  if (walking_ && found.blocked) Note(cell, found);
  if (found.blocked == cell.blocked && (!found.blocked || found.code == cell.code)) return;
  if (cell.blocked) Add(cell, std::uint64_t{0} - cell.tasks, -std::int64_t{cell.jobs}, -1);
  cell.blocked = found.blocked;
  cell.code = found.code;
  cell.since = found.blocked ? now.wall : WallTime{};
  if (!cell.blocked) return;
  Sum& sum = sums_[static_cast<std::size_t>(cell.code)];
  if (sum.cells == 0) {
    sum.since = now.wall;
    sum.job = cell.job;
    sum.most = cell.tasks;
  }
  Add(cell, cell.tasks, cell.jobs, 1);
}

void BlockedReasons::Note(const Cell& cell, const Found& found) {
  Sum& seen = seen_[static_cast<std::size_t>(found.code)];
  // What is blocked otherwise from now on begins now.
  const WallTime since = cell.blocked && cell.code == found.code ? cell.since : WallTime::max();
  if (seen.cells++ == 0 || since < seen.since) seen.since = since;
  if (cell.job && cell.tasks > seen.most) {
    seen.most = cell.tasks;
    seen.job = cell.job;
  }
  if (found.limit && (limits_seen_.size() < kMostSeen || limits_seen_.contains(*found.limit))) {
    LimitSeen& limit = limits_seen_[*found.limit];
    if (limit.tasks == 0) limit.name = limits_.looks().NameOf(*found.limit);
    limit.tasks += cell.tasks;
  }
  if (!found.ceiling) return;
  std::string key = std::to_string(static_cast<int>(found.ceiling->own)) + found.ceiling->key.name + "=" +
                    found.ceiling->value.value_or("");
  if (ceilings_seen_.size() >= kMostSeen && !ceilings_seen_.contains(key)) return;
  CeilingSeen& ceiling = ceilings_seen_[std::move(key)];
  ceiling.ceiling = *found.ceiling;
  ceiling.tasks += cell.tasks;
}

// --- Time.

void BlockedReasons::BeginWalk() {
  walking_ = true;
  changed_ = false;
  moved_ = reasons_.moves();
  next_ = 1;
  walk_spent_ = 0;
  seen_ = {};
  limits_seen_.clear();
  ceilings_seen_.clear();
}

bool BlockedReasons::Step(std::size_t& budget, const Now& now) {
  constexpr std::size_t kLooksPerUnit = 8;
  std::size_t left = budget * kLooksPerUnit;
  const std::size_t before = left;
  for (; walking_ && next_ < cells_.size() && left > 0; ++next_) {
    looks_ = 0;
    if (cells_[next_].jobs > 0) Look(cells_[next_], now);
    left -= std::min(left, 1 + looks_);
  }
  walk_spent_ += (before - left) / kLooksPerUnit;
  budget = left / kLooksPerUnit;
  if (walking_ && next_ >= cells_.size()) EndWalk();
  return !walking_;
}

void BlockedReasons::EndWalk() {
  walking_ = false;
  walk_cost_ = walk_spent_;
  for (std::size_t code = 0; code < kCodes; ++code) {
    if (seen_[code].cells == 0) continue;
    if (seen_[code].since != WallTime::max()) sums_[code].since = seen_[code].since;
    if (seen_[code].job) sums_[code].job = seen_[code].job;
    sums_[code].most = seen_[code].most;
  }
  shown_limits_.clear();
  for (const auto& [slot, seen] : limits_seen_) shown_limits_.push_back({seen.name, seen.tasks});
  shown_ceilings_.clear();
  for (const auto& [text, seen] : ceilings_seen_) {
    const Ceiling& of = seen.ceiling;
    shown_ceilings_.push_back({of.own, of.key.name, of.value, of.running, of.max, seen.tasks});
  }
  const auto cut = [](auto& rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.tasks > b.tasks; });
    if (rows.size() > kMostHoldsShown) rows.resize(kMostHoldsShown);
  };
  cut(shown_limits_);
  cut(shown_ceilings_);
}

std::size_t BlockedReasons::MemoryBytes() const {
  return cells_.capacity() * sizeof(Cell) + by_hash_.bucket_count() * 17 + of_class_.capacity() * sizeof(OfClass) +
         sorts_of_.bucket_count() * (sizeof(Sorts) + 5) + sorts_.capacity() * sizeof(Sort);
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "engine/tallies/user_table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace allot {
namespace {

constexpr double kFadeSeconds = 60;
// Weights stay the same for so long: exp() is for few starts only.
constexpr Duration kStep = std::chrono::milliseconds(250);
// Then they would become too large.
constexpr double kEraFades = 32;

constexpr std::string_view kPrefix = "user.";

double Fades(Duration time) { return std::chrono::duration<double>(time).count() / kFadeSeconds; }

}  // namespace

UserTable::~UserTable() { sorted_.clear(); }

std::uint32_t UserTable::WeightOf(std::string_view user) const {
  if (weights_.empty()) return 1;
  const auto found = weights_.find(std::string(kPrefix).append(user));
  return found == weights_.end() ? 1 : found->second;
}

void UserTable::SetWeights(const Weights& weights) {
  const Weights before = std::exchange(weights_, weights);
  const auto renew = [this](const Weights& named) {
    for (const auto& [name, weight] : named) {
      if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
      const std::string_view user = std::string_view(name).substr(kPrefix.size());
      Entry* entry = Find(user);
      if (entry == nullptr) continue;
      const std::uint32_t now = WeightOf(user);
      if (entry->active()) active_weights_ += std::uint64_t{now} - entry->weight;
      entry->weight = now;
    }
  };
  renew(before);
  renew(weights_);
}

UserTable::Entry& UserTable::Acquire(std::string_view user) {
  Entry* entry = last_ != nullptr && last_->name == user ? last_ : Find(user);
  if (entry == nullptr) {
    auto made = std::make_unique<Entry>(user);
    entry = made.get();
    entry->weight = WeightOf(user);
    entry->oldest_from = JobId{~std::uint64_t{0}};
    sorted_.insert(*entry);
    by_name_.emplace(entry->name, std::move(made));
  }
  ++entry->references;
  last_ = entry;
  return *entry;
}

void UserTable::Release(Entry& entry) {
  if (--entry.references > 0) return;
  CHECK(!entry.active() && entry.jobs == 0 && entry.queued == 0 && entry.retrying == 0);
  if (last_ == &entry) last_ = nullptr;
  sorted_.erase(sorted_.iterator_to(entry));
  by_name_.erase(by_name_.find(entry.name));
}

void UserTable::Activate(Entry& entry, bool on) {
  const double recent = In(entry.recent);
  recent_ = {In(recent_), era_};
  if (on) {
    ++active_;
    active_weights_ += entry.weight;
    recent_.sum += recent;
  } else {
    --active_;
    active_weights_ -= entry.weight;
    recent_.sum = active_ == 0 ? 0 : std::max(0.0, recent_.sum - recent);
  }
}

void UserTable::Advance(Instant now) {
  if (!timed_) {
    timed_ = true;
    era_began_ = now;
  }
  step_until_ = now + kStep;
  double fades = Fades(now - era_began_);
  if (fades > kEraFades) {
    // Whatever is of an era before the last is nothing by now, and what is of the last fades by all of it.
    const double left = In(recent_) * std::exp(-fades);
    ++era_;
    if (fades < 2 * kEraFades) {
      // The next era begins where this one ends, so that entries need not know when.
      era_began_ += std::chrono::duration_cast<Duration>(std::chrono::duration<double>(kEraFades * kFadeSeconds));
      fades = Fades(now - era_began_);
      recent_ = {left * std::exp(fades), era_};
    } else {
      ++era_;
      era_began_ = now;
      fades = 0;
      recent_ = {left, era_};
    }
  }
  weight_ = std::exp(fades);
}

double UserTable::In(const Recent& recent) const {
  if (recent.era == era_) return recent.sum;
  return recent.era + 1 == era_ ? recent.sum * std::exp(-kEraFades) : 0;
}

double UserTable::Rate(const Recent& recent, Instant now) const {
  return In(recent) * std::exp(-Fades(std::max(now, era_began_) - era_began_)) / kFadeSeconds;
}

void UserTable::Started(Entry& entry, Instant now, milliseconds waited) {
  if (now >= step_until_ || !timed_) Advance(now);
  ++entry.started;
  ++running_;
  if (entry.running++ == 0 && entry.open == 0) Activate(entry, true);
  if (entry.recent.era != era_) entry.recent = {In(entry.recent), era_};
  entry.recent.sum += weight_;
  recent_.sum += weight_;
  if (!entry.waited) entry.waited = std::make_unique<TimeHistogram>();
  entry.waited->Add(waited);
}

void UserTable::Resumed(Entry& entry, std::uint32_t tasks) {
  if (tasks == 0) return;
  const bool before = entry.active();
  entry.running += tasks;
  running_ += tasks;
  if (!before) Activate(entry, true);
}

UserTable::Entry* UserTable::Find(std::string_view user) const {
  const auto found = by_name_.find(user);
  return found == by_name_.end() ? nullptr : found->second.get();
}

void UserTable::ForEach(std::string_view after, const std::function<bool(Entry&)>& visit) const {
  struct ByName {
    bool operator()(std::string_view name, const Entry& entry) const { return name < entry.name; }
    bool operator()(const Entry& entry, std::string_view name) const { return entry.name < name; }
  };
  auto it = after.empty() ? sorted_.begin() : sorted_.upper_bound(after, ByName{});
  while (it != sorted_.end() && visit(*it)) ++it;
}

std::size_t UserTable::MemoryBytes() const {
  std::size_t bytes = by_name_.bucket_count() * (sizeof(std::string_view) + sizeof(void*) + 1);
  for (const Entry& entry : sorted_) bytes += sizeof(Entry) + (entry.waited ? sizeof(TimeHistogram) : 0);
  return bytes;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "engine/stages/ordering.h"

#include <algorithm>

#include "engine/parts.h"

namespace allot {

GroupText EngineJobKeys::Get(const PickJob& picked, const StrategyKey& key) const {
  const auto& job = static_cast<const EngineJob&>(picked);
  switch (key.kind) {
    case StrategyKey::Kind::kUser:
      return job.terms->user.empty() ? std::nullopt : GroupText("s" + job.terms->user);
    case StrategyKey::Kind::kTag: {
      if (job.terms->tags.empty()) return std::nullopt;
      std::string text = "s";
      for (const std::string& tag : job.terms->tags) {
        if (text.size() > 1) text += ',';
        text += tag;
      }
      return text;
    }
    case StrategyKey::Kind::kAsync:
      return TextOf(job.terms->async);
    case StrategyKey::Kind::kPriority:
      return job.key.no_priority ? std::nullopt : TextOf(job.key.priority);
    case StrategyKey::Kind::kJob:
      return "s" + std::to_string(job.id().value);
    case StrategyKey::Kind::kMeta:
      break;
  }
  if (!job.extras) return std::nullopt;
  for (const auto& [name, value] : *job.extras->meta) {
    if (expr::SameName(name, key.name)) return TextOf(value);
  }
  return std::nullopt;
}

bool EngineJobKeys::HasTag(const PickJob& job, const std::string& tag) const {
  const TagList& tags = static_cast<const EngineJob&>(job).terms->tags;
  return std::binary_search(tags.begin(), tags.end(), tag);
}

bool Ordering::Build(std::size_t& budget) {
  constexpr std::size_t kLookEvery = 64;  // jobs
  std::size_t jobs = 0;
  while (p_.orders.builder().Building()) {
    p_.orders.builder().Begin();
    JobCursor cursor = JobCursor::After(p_.orders.builder().built_to());
    const bool all = p_.jobs.Walk(cursor, [&](EngineJob* job) {
      if (budget == 0) return false;
      if (job == nullptr) {
        --budget;
        p_.orders.builder().Skip(cursor.next);  // else a walk that ends among those begins there again, and again
        return true;
      }
      budget -= std::min(budget, p_.orders.builder().cost());
      p_.orders.builder().Add(*job);
      if (++jobs % kLookEvery == 0 && !p_.budget.Fits(0)) p_.orders.builder().GiveUp();
      return true;
    });
    if (!all) return false;
    p_.orders.builder().Finish();
  }
  p_.blocked.Renew();
  return p_.orders.builder().Clean(budget);
}

bool Ordering::SmallBuild() const {
  constexpr std::size_t kSmallQueue = 1500;
  return p_.jobs.places() <= kSmallQueue;
}

void Ordering::Open(EngineJob& job) { p_.orders.Open(job); }
void Ordering::Close(EngineJob& job) { p_.orders.Close(job); }

void Ordering::AfterCommand(std::size_t& budget) {
  ++p_.pace.commands;
  if (works() == 0) return;
  if (!SmallBuild()) budget = std::min(budget, kBuildBesides);
  Build(budget);
}

void Ordering::Tick(TickBudget& tick) {
  if (!tick.through) return;
  // Orders of large queues take long: who asks for something meanwhile has most of the time.
  const std::size_t commands = p_.pace.commands;
  const std::size_t part = SmallBuild() ? kTickBudget : commands == 0 ? kBuildAtRest : kBuildBesides * commands;
  std::size_t budget = std::min(part, p_.pace.Part(kTickBudget));
  Build(budget);
}

void Ordering::AddWakes(NextTick& next) const {
  if (works() > 0) next.AtOnce();
}

std::size_t Ordering::works() const { return p_.orders.builder().Building() || p_.orders.builder().Cleaning() ? 1 : 0; }

// --- What was put off.

void OrderUpdates::OpenLater(EngineJob& job) {
  if (!job.opening) openings_.push_back(job.id());
  job.opening = true;
}

void OrderUpdates::ReturnLater(EngineJob& job) {
  p_.orders.ReturnLater(job);
  if (job.unapplied_returns == 1) returns_.push_back(job.id());
}

void OrderUpdates::Tick(TickBudget&) {
  const auto each = [this](std::deque<JobId>& ids, auto apply) {
    while (!ids.empty() && p_.orders.updates().MayUpdate()) {
      EngineJob* job = p_.jobs.Find(ids.front());
      ids.pop_front();
      if (job != nullptr) apply(*job);
    }
  };
  each(returns_, [this](EngineJob& job) {
    if (job.unapplied_returns > 0) p_.orders.ApplyReturns(job);
  });
  each(openings_, [this](EngineJob& job) {
    if (!job.opening) return;
    job.opening = false;
    p_.flow.Refresh(job);
  });
}

void OrderUpdates::AddWakes(NextTick& next) const {
  if (works() > 0) next.AtOnce();
}

}  // namespace allot

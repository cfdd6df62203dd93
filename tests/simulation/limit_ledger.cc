// SPDX-License-Identifier: Apache-2.0
#include "simulation/limit_ledger.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace allot::simulation {
namespace {

std::int64_t Millionths(double number) { return std::llround(number * 1e6); }

}  // namespace

LimitLedger::Terms LimitLedger::TermsOf(const LimitSpec& spec) {
  CHECK(kWindows % spec.window.count() == 0);
  Terms terms{Millionths(spec.count), Millionths(spec.burst), Millionths(spec.max_burst_cost), 0};
  terms.refill = terms.count * (kWindows / spec.window.count());
  return terms;
}

LimitLedger::Wide LimitLedger::Refilled(Wide level, const Terms& terms, Duration time) {
  return std::min(terms.full(), level + Wide{time.count()} * terms.refill);
}

LimitLedger::LimitLedger(const LimitSpec& spec, Instant now)
    : terms_(TermsOf(spec)), level_(terms_.full()), last_(now) {
  life_.push_back({now, true, terms_, 0, false});
}

void LimitLedger::Advance(Instant now) {
  level_ = Refilled(level_, terms_, now - last_);
  last_ = now;
  // If all that may come back did, the bucket would have run over: the oldest has no room any more.
  Wide excess = level_ - terms_.full();
  for (const Round& moment : moments_) excess += moment.open;
  for (Round& moment : moments_) {
    if (excess <= 0) break;
    const Wide gone = std::min(excess, moment.open);
    moment.open -= gone;
    excess -= gone;
  }
  std::erase_if(moments_, [](const Round& moment) { return moment.open == 0; });
}

void LimitLedger::Update(const LimitSpec& spec, Instant now) {
  Advance(now);
  terms_ = TermsOf(spec);
  level_ = std::min(level_, terms_.full());  // what is owed stays owed
  Advance(now);
  life_.push_back({now, true, terms_, 0, false});
}

bool LimitLedger::Pays(std::int64_t cost, Instant now, bool surely) const {
  if (terms_.count == 0) return false;
  if (cost == 0) return true;
  constexpr Wide kLost = kWindows / 1000;  // a thousandth of a millionth
  const Wide level = Refilled(level_, terms_, now - last_) - (surely ? kLost : 0);
  return level - terms_.deepest() >= Wide{terms_.Takes(cost)} * kWindows;
}

void LimitLedger::Draw(std::uint64_t start, std::int64_t cost, Instant now) {
  CHECK(Pays(cost, now));
  Advance(now);
  const std::int64_t taken = terms_.Takes(cost);
  level_ -= Wide{taken} * kWindows;
  if (moments_.empty() || moments_.back().at != now) moments_.push_back({now, 0});
  moments_.back().open += Wide{taken} * kWindows;
  drawn_[start] = {life_.size(), now};
  life_.push_back({now, false, {}, taken, false});
  ++allowed_;
  cost_allowed_ += taken;
}

void LimitLedger::Refund(std::uint64_t start, Instant now) {
  const auto drawn = drawn_.find(start);
  if (drawn == drawn_.end()) return;
  Advance(now);
  Event& event = life_[drawn->second.event];
  event.refunded = true;
  --allowed_;
  cost_allowed_ -= event.cost;
  const auto moment =
      std::find_if(moments_.begin(), moments_.end(), [&](const Round& one) { return one.at == drawn->second.at; });
  if (moment != moments_.end()) {
    const Wide back = std::min(Wide{event.cost} * kWindows, moment->open);
    moment->open -= back;
    level_ += back;
  }
  drawn_.erase(drawn);
}

double LimitLedger::Level(Instant now) const {
  return static_cast<double>(Refilled(level_, terms_, now - last_)) / static_cast<double>(kWindows) / 1e6;
}

std::string LimitLedger::Audit() const {
  Terms terms = life_.front().terms;
  Wide level = terms.full();
  Instant last = life_.front().at;
  std::size_t begin = 0;  // of the time with these terms
  for (std::size_t i = 0; i < life_.size(); ++i) {
    const Event& event = life_[i];
    level = Refilled(level, terms, event.at - last);
    last = event.at;
    if (event.update) {
      terms = event.terms;
      level = std::min(level, terms.full());
      begin = i + 1;
    } else if (!event.refunded) {
      level -= Wide{event.cost} * kWindows;
      if (event.cost > 0 && level < terms.deepest()) return "start " + std::to_string(i) + " was not payable";
      Wide sum = 0;
      for (std::size_t j = i + 1; j-- > begin;) {
        if (!life_[j].refunded) sum += Wide{life_[j].cost} * kWindows;
        if (sum > terms.full() - terms.deepest() + Wide{(event.at - life_[j].at).count()} * terms.refill) {
          return "from start " + std::to_string(j) + " to start " + std::to_string(i) + " it paid too much";
        }
      }
    }
  }
  return {};
}

}  // namespace allot::simulation

// SPDX-License-Identifier: Apache-2.0
#include "limits/bucket.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bounds.h"
#include "base/check.h"

namespace allot {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
static_assert(kTooMany.millionths / kMillion > 2 * static_cast<std::int64_t>(bounds::kMaxLimitTokens));

__int128 FloorDivide(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// The level in the unit of another window, rounded down. In two steps, so that it cannot overflow.
__int128 Rescale(__int128 scaled, Duration from, Duration to) {
  if (from == to) return scaled;
  const __int128 whole = FloorDivide(scaled, from.count());
  const __int128 rest = scaled - whole * from.count();
  return whole * to.count() + rest * to.count() / from.count();
}

void Check(const BucketTerms& terms) {
  const Tokens most = Tokens::Of(static_cast<std::int64_t>(bounds::kMaxLimitTokens));
  for (const Tokens amount : {terms.count, terms.burst, terms.max_burst_cost}) {
    CHECK(amount >= Tokens{} && amount <= most);
  }
  CHECK(terms.window > Duration::zero() && terms.window <= bounds::kMaxLimitWindow);
}

Tokens TakenOf(const BucketTerms& terms, Tokens cost) {
  return terms.max_burst_cost == Tokens{} ? cost : std::min(cost, terms.max_burst_cost);
}

bool EverPays(const BucketTerms& terms, Tokens cost) {
  if (cost <= Tokens{}) return true;
  return terms.count > Tokens{} && TakenOf(terms, cost).millionths <= terms.count.millionths + terms.burst.millionths;
}

}  // namespace

Tokens Tokens::Of(double number) {
  if (!(number > 0)) return {};
  if (number >= kTooMany.number()) return kTooMany;
  return {std::max<std::int64_t>(1, std::llround(number * 1e6))};
}

Tokens Tokens::Of(std::int64_t number) {
  if (number <= 0) return {};
  return number >= kTooMany.millionths / kMillion ? kTooMany : Tokens{number * kMillion};
}

Bucket::Bucket(const BucketTerms& terms, Instant now) : terms_(terms), last_(now) {
  Check(terms);
  level_ = Scaled(terms_.count);
}

Bucket::Wide Bucket::At(Instant now) const {
  const Wide elapsed = now <= last_ ? 0 : Wide{now.time_since_epoch().count()} - last_.time_since_epoch().count();
  return std::min(Scaled(terms_.count), level_ + elapsed * terms_.count.millionths);
}

double Bucket::Level(Instant now) const {
  return static_cast<double>(At(now)) / static_cast<double>(terms_.window.count()) / 1e6;
}

Tokens Bucket::Taken(Tokens cost) const { return TakenOf(terms_, cost); }

bool Bucket::CanPay(Tokens cost, Instant now) const {
  if (cost <= Tokens{}) return true;
  if (terms_.count == Tokens{}) return false;
  return At(now) + Scaled(terms_.burst) >= Scaled(Taken(cost));
}

bool Bucket::CanEverPay(Tokens cost) const { return EverPays(terms_, cost); }

std::optional<Instant> Bucket::CanPayAt(Tokens cost, Instant now) const {
  if (CanPay(cost, now)) return now;
  if (!CanEverPay(cost)) return std::nullopt;
  const Wide missing = Scaled(Taken(cost)) - Scaled(terms_.burst) - level_;
  const Wide wait = (missing + terms_.count.millionths - 1) / terms_.count.millionths;
  const Wide at = Wide{last_.time_since_epoch().count()} + wait;
  if (at > std::numeric_limits<Duration::rep>::max()) return std::nullopt;  // the clock ends before
  return Instant(Duration(static_cast<Duration::rep>(at)));
}

std::uint64_t Bucket::PayableWithin(Duration horizon, Tokens cost, Instant now) const {
  return Within(horizon, now).Draws(cost);
}

Bucket::Purse Bucket::Within(Duration horizon, Instant now) const {
  // Whoever draws as soon as it passes never lets the bucket run over, so that nothing of the refill is lost.
  const Wide refill = Wide{std::max<Duration::rep>(0, horizon.count())} * terms_.count.millionths;
  return {terms_, At(now) + Scaled(terms_.burst) + refill};
}

std::uint64_t Bucket::Purse::Draws(Tokens cost) const {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  if (cost <= Tokens{}) return kAll;
  if (!EverPays(terms_, cost)) return 0;
  const Wide draws = left_ / (Wide{TakenOf(terms_, cost).millionths} * terms_.window.count());
  return draws > kAll ? kAll : static_cast<std::uint64_t>(std::max<Wide>(0, draws));
}

void Bucket::Purse::Take(Tokens cost, std::uint64_t draws) {
  if (cost <= Tokens{} || draws == 0) return;
  CHECK(draws <= Draws(cost));
  left_ -= Wide{TakenOf(terms_, cost).millionths} * terms_.window.count() * draws;
}

void Bucket::Advance(Instant now) {
  level_ = At(now);
  last_ = std::max(last_, now);
}

void Bucket::Forget() {
  const Wide room = Scaled(terms_.count) - level_;
  while (open_ > room) {
    Moment& oldest = moments_.front();
    const Wide gone = std::min(oldest.open, open_ - room);
    oldest.open -= gone;
    open_ -= gone;
    if (oldest.open > 0) break;
    moments_.pop_front();
    ++first_moment_;
  }
}

Bucket::Taking Bucket::Draw(Tokens cost, Instant now) {
  Advance(now);
  Forget();
  const Tokens amount = Taken(std::max(cost, Tokens{}));
  CHECK(amount == Tokens{} || (terms_.count > Tokens{} && level_ + Scaled(terms_.burst) >= Scaled(amount)));
  level_ -= Scaled(amount);
  if (moments_.empty() || moments_.back().at != last_) {
    if (moments_.size() == kMomentsKept) {
      open_ -= moments_.front().open;
      moments_.pop_front();
      ++first_moment_;
    }
    moments_.push_back({last_, 0});
  }
  moments_.back().open += Scaled(amount);
  open_ += Scaled(amount);
  return {first_moment_ + moments_.size() - 1, amount};
}

void Bucket::Refund(const Taking& taking, Instant now) {
  Advance(now);
  Forget();
  if (taking.moment < first_moment_ || taking.moment - first_moment_ >= moments_.size()) return;
  Moment& moment = moments_[taking.moment - first_moment_];
  const Wide back = std::min(Scaled(taking.amount), moment.open);
  moment.open -= back;
  open_ -= back;
  level_ += back;
}

void Bucket::Update(const BucketTerms& terms, Instant now) {
  Check(terms);
  Advance(now);
  Forget();
  const Duration window = terms_.window;
  terms_ = terms;
  level_ = Rescale(level_, window, terms_.window);
  open_ = 0;
  for (Moment& moment : moments_) open_ += moment.open = Rescale(moment.open, window, terms_.window);
  // From above alone. A debt deeper than the new burst stays, and is refilled from there: if it were cut to the burst,
  // going to a smaller one and back would grant starts.
  level_ = std::min(level_, Scaled(terms_.count));
  Forget();
}

}  // namespace allot

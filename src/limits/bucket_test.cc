// SPDX-License-Identifier: Apache-2.0
#include "limits/bucket.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/cpp_int.hpp>

#include "base/bounds.h"
#include "base/rng.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using Rational = boost::multiprecision::cpp_rational;

Instant At(Duration since) { return Instant(since); }
Tokens T(double number) { return Tokens::Of(number); }
BucketTerms Terms(double count, Duration window, double burst = 0, double cap = 0) {
  return {T(count), window, T(burst), T(cap)};
}
bool TryDraw(Bucket& bucket, double cost, Duration at) {
  if (!bucket.CanPay(T(cost), At(at))) return false;
  bucket.Draw(T(cost), At(at));
  return true;
}

TEST(Tokens, AreMillionthsAndWhatIsAboveZeroStaysAboveZero) {
  EXPECT_EQ(T(0.1).millionths, 100'000);
  EXPECT_EQ(T(1.0 / 3).millionths, 333'333);
  EXPECT_EQ(T(1e-300).millionths, 1);
  EXPECT_EQ(T(-1), T(0));
  EXPECT_EQ(T(std::numeric_limits<double>::quiet_NaN()), T(0));
  EXPECT_EQ(T(std::numeric_limits<double>::infinity()), kTooMany);
  EXPECT_EQ(T(1e300), kTooMany);
  EXPECT_EQ(Tokens::Of(std::numeric_limits<std::int64_t>::max()), kTooMany);
  EXPECT_EQ(Tokens::Of(std::numeric_limits<std::int64_t>::min()), T(0));
  EXPECT_EQ(Tokens::Of(std::int64_t{7}), T(7));
}

TEST(Bucket, ACostAboveTheCapIsPaidByTheBurst) {
  Bucket bucket(Terms(1, 60s, 2, 2), At(0s));
  EXPECT_TRUE(TryDraw(bucket, 5, 0s));
  EXPECT_EQ(bucket.Level(At(0s)), -1);
  EXPECT_FALSE(TryDraw(bucket, 5, 0s));
  EXPECT_FALSE(TryDraw(bucket, 5, 59'900ms));
  EXPECT_FALSE(TryDraw(bucket, 5, 60s - 1us));
  EXPECT_TRUE(TryDraw(bucket, 5, 60s));
  EXPECT_EQ(bucket.Level(At(60s)), -2);
  EXPECT_FALSE(TryDraw(bucket, 5, 120s));
}

TEST(Bucket, CountAndBurstPassAtOnceAndNoMore) {
  Bucket bucket(Terms(10, 60s, 5), At(0s));
  int passed = 0;
  while (passed < 100 && TryDraw(bucket, 1, 0s)) ++passed;
  EXPECT_EQ(passed, 15);
}

TEST(Bucket, TellsHowManyDrawsPassWithinATime) {
  Bucket bucket(Terms(1, 60s), At(0s));
  EXPECT_EQ(bucket.PayableWithin(0s, T(1), At(0s)), 1u);
  EXPECT_EQ(bucket.PayableWithin(60s, T(1), At(0s)), 2u);
  ASSERT_TRUE(TryDraw(bucket, 1, 0s));
  EXPECT_EQ(bucket.PayableWithin(10s, T(1), At(0s)), 0u);
  EXPECT_EQ(bucket.PayableWithin(60s - 1us, T(1), At(0s)), 0u);
  EXPECT_EQ(bucket.PayableWithin(60s, T(1), At(0s)), 1u);
  EXPECT_EQ(bucket.PayableWithin(60s, T(0), At(0s)), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(bucket.PayableWithin(24h * 365, T(1.5), At(0s)), 0u);  // more than it ever holds
  EXPECT_EQ(Bucket(Terms(0, 60s, 5), At(0s)).PayableWithin(60s, T(1), At(0s)), 0u);
  EXPECT_EQ(Bucket(Terms(10, 60s, 5), At(0s)).PayableWithin(60s, T(2), At(0s)), 12u);
}

TEST(Bucket, TellsWhenADrawPasses) {
  Bucket bucket(Terms(3, 10s, 1), At(0s));
  EXPECT_EQ(bucket.CanPayAt(T(4), At(5s)), At(5s));
  bucket.Draw(T(4), At(5s));
  EXPECT_EQ(bucket.CanPayAt(T(1), At(5s)), At(5s + 3'333'334us));
  EXPECT_EQ(bucket.CanPayAt(T(1), At(6s)), At(5s + 3'333'334us));
  EXPECT_EQ(bucket.CanPayAt(T(4), At(6s)), At(5s + 13'333'334us));
  EXPECT_EQ(bucket.CanPayAt(T(4.000001), At(6s)), std::nullopt);
  EXPECT_EQ(bucket.CanPayAt(T(0), At(6s)), At(6s));
  EXPECT_EQ(Bucket(Terms(0, 10s, 5), At(0s)).CanPayAt(T(1), At(0s)), std::nullopt);
  // A millionth a year, and a debt of 10^12 tokens: not while the clock can count.
  Bucket slow({Tokens{1}, bounds::kMaxLimitWindow, T(1e12), {}}, At(0s));
  slow.Draw(T(1e12), At(0s));
  EXPECT_EQ(slow.CanPayAt(T(1), At(0s)), std::nullopt);
  EXPECT_EQ(slow.CanPayAt(Tokens{2}, At(0s)), At(bounds::kMaxLimitWindow));
}

TEST(Bucket, ACostOfZeroTakesNothingAndPassesInDebtToo) {
  Bucket bucket(Terms(1, 60s, 2), At(0s));
  ASSERT_TRUE(TryDraw(bucket, 3, 0s));
  EXPECT_TRUE(TryDraw(bucket, 0, 0s));
  EXPECT_EQ(bucket.Level(At(0s)), -2);
}

TEST(Bucket, TimeThatGoesBackwardsMakesNoTokens) {
  Bucket bucket(Terms(1, 10s), At(100s));
  ASSERT_TRUE(TryDraw(bucket, 1, 100s));
  EXPECT_FALSE(TryDraw(bucket, 1, 50s));
  bucket.Update(Terms(1, 10s), At(50s));
  EXPECT_FALSE(TryDraw(bucket, 1, 109s));
  EXPECT_TRUE(TryDraw(bucket, 1, 110s));
  bucket.Refund(bucket.Draw(T(0), At(90s)), At(80s));
  EXPECT_FALSE(TryDraw(bucket, 1, 119s));
}

TEST(Bucket, ARenewalNeverRefillsHoweverOften) {
  Bucket renewed(Terms(7, 13s, 2), At(0s));
  Bucket left_alone(Terms(7, 13s, 2), At(0s));
  for (Bucket* bucket : {&renewed, &left_alone}) bucket->Draw(T(9), At(0s));
  for (int i = 1; i <= 10'000; ++i) renewed.Update(Terms(7, 13s, 2), At(777us * i));
  EXPECT_EQ(renewed.CanPayAt(T(3), At(7770ms)), left_alone.CanPayAt(T(3), At(7770ms)));
  EXPECT_EQ(renewed.Level(At(8s)), left_alone.Level(At(8s)));
}

TEST(Bucket, AnUpdateCutsTheLevelFromAboveOnly) {
  Bucket bucket(Terms(10, 10s, 5), At(0s));
  bucket.Draw(T(15), At(0s));                 // -5
  bucket.Update(Terms(100, 10s, 5), At(2s));  // refilled by 2 at the old rate
  EXPECT_EQ(bucket.Level(At(2s)), -3);
  EXPECT_EQ(bucket.Level(At(3s)), 7);
  bucket.Update(Terms(5, 7s), At(3s));
  EXPECT_EQ(bucket.Level(At(3s)), 5);
  bucket.Draw(T(5), At(3s));
  bucket.Update(Terms(5, 7s, 3), At(3s));
  bucket.Draw(T(3), At(3s));
  bucket.Update(Terms(6, 3s, 1), At(3s));
  EXPECT_EQ(bucket.Level(At(3s)), -3) << "what is owed stays owed";
  EXPECT_FALSE(TryDraw(bucket, 1, 4s)) << "and is refilled from there";
  EXPECT_EQ(bucket.Level(At(4s)), -1);
  EXPECT_TRUE(TryDraw(bucket, 1, 4500ms));
}

TEST(Bucket, NoChangeOfTermsForgivesADebt) {
  // 1 an hour with a burst of 5: six at once, and then one an hour, whatever is changed in between.
  const BucketTerms own = Terms(1, 1h, 5);
  BucketTerms capped = own;
  capped.max_burst_cost = T(0.5);
  for (const BucketTerms& other :
       {Terms(1, 1h), Terms(1, 1h, 4), Terms(0, 1h), Terms(0, 1s, 5), Terms(1, 366 * 24h), Terms(0.001, 1h), capped}) {
    Bucket bucket(own, At(0s));
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(TryDraw(bucket, 1, 0s));
    for (int round = 0; round < 20; ++round) {
      bucket.Update(other, At(0s));
      bucket.Update(own, At(0s));
      ASSERT_FALSE(TryDraw(bucket, 1, 0s));
    }
    EXPECT_EQ(bucket.Level(At(0s)), -5);
    EXPECT_FALSE(TryDraw(bucket, 1, 1h - 1us));
    EXPECT_TRUE(TryDraw(bucket, 1, 1h));
  }
}

TEST(Bucket, ADebtBelowTheBurstIsForeseenAsItIsRefilled) {
  Bucket bucket(Terms(6, 60s, 6), At(0s));
  bucket.Draw(T(12), At(0s));  // -6
  bucket.Update(Terms(6, 60s, 1), At(0s));
  EXPECT_EQ(bucket.CanPayAt(T(1), At(0s)), At(60s));
  EXPECT_EQ(bucket.PayableWithin(59s, T(1), At(0s)), 0u);
  EXPECT_EQ(bucket.PayableWithin(60s, T(1), At(0s)), 1u);
  EXPECT_TRUE(bucket.CanPay(T(0), At(0s)));
}

TEST(Bucket, ARefundIsAsIfTheDrawHadNotBeen) {
  Bucket bucket(Terms(10, 10s), At(0s));
  const Bucket::Taking five = bucket.Draw(T(5), At(0s));
  bucket.Refund(five, At(0s));
  EXPECT_EQ(bucket.Level(At(0s)), 10);
  bucket.Refund(five, At(0s));  // not twice
  EXPECT_EQ(bucket.Level(At(0s)), 10);
  // Full again before the next draw: without the first, that would have found no more either.
  const Bucket::Taking lost = bucket.Draw(T(5), At(1s));
  bucket.Draw(T(10), At(6s));
  bucket.Refund(lost, At(6s));
  EXPECT_EQ(bucket.Level(At(6s)), 0);
  // Nearly full in between: 1 token found no room.
  bucket.Draw(T(0), At(16s));
  const Bucket::Taking partly = bucket.Draw(T(5), At(16s));
  bucket.Draw(T(9), At(20s));
  EXPECT_EQ(bucket.Level(At(20s)), 0);
  bucket.Refund(partly, At(20s));
  EXPECT_EQ(bucket.Level(At(20s)), 1);
}

TEST(Bucket, ThousandsOfDrawsOfOneInstantAreGivenBack) {
  Bucket bucket(Terms(10'000, 60s), At(0s));
  std::vector<Bucket::Taking> takings;
  for (int i = 0; i < 10'000; ++i) takings.push_back(bucket.Draw(T(1), At(1s)));
  for (const Bucket::Taking& taking : takings) bucket.Refund(taking, At(1s + 1ms));
  EXPECT_EQ(bucket.Level(At(1s + 1ms)), 10'000);
}

// --- Properties, against the definition in rational numbers.

struct Model {
  Rational count, window, burst, cap, level;
  Duration last{};
  explicit Model(const BucketTerms& terms, Duration now) : last(now) {
    Set(terms);
    level = count;
  }
  void Set(const BucketTerms& terms) {
    const auto exact = [](Tokens amount) { return Rational(amount.millionths, 1'000'000); };
    count = exact(terms.count), burst = exact(terms.burst), cap = exact(terms.max_burst_cost);
    window = terms.window.count();
  }
  void Advance(Duration now) {
    if (now <= last) return;
    level = std::min<Rational>(count, level + count * (now - last).count() / window);
    last = now;
  }
  Rational Taken(Tokens cost) const {
    const Rational exact(cost.millionths, 1'000'000);
    return cap > 0 && cap < exact ? cap : exact;
  }
  bool CanPay(Tokens cost) const { return cost == Tokens{} || (count > 0 && level + burst >= Taken(cost)); }
};

double SomeAmount(Rng& rng) {
  switch (rng.Below(6)) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(rng.Below(5));
    case 2:
      return rng.Unit() * 10;
    case 3:
      return static_cast<double>(rng.Below(1000));
    case 4:
      return 1e12 * rng.Unit();
    default:
      return 1e-6 * static_cast<double>(rng.Below(3));
  }
}

Duration SomeTime(Rng& rng) {
  switch (rng.Below(6)) {
    case 0:
      return 0us;
    case 1:
      return Duration(static_cast<std::int64_t>(rng.Below(20)));
    case 2:
      return Duration(static_cast<std::int64_t>(rng.Below(2'000'000)));
    case 3:
      return Duration(static_cast<std::int64_t>(rng.Below(3'600'000'000)));
    case 4:
      return -Duration(static_cast<std::int64_t>(rng.Below(1'000'000)));
    default:
      return 24h * static_cast<int>(rng.Below(365 * 20));
  }
}

BucketTerms SomeTerms(Rng& rng) {
  BucketTerms terms = Terms(SomeAmount(rng), 1us, SomeAmount(rng), rng.Below(2) == 0 ? 0 : SomeAmount(rng));
  terms.window = std::clamp<Duration>(SomeTime(rng), 1us, bounds::kMaxLimitWindow);
  return terms;
}

TEST(BucketProperty, IsTheDefinitionInRationalNumbers) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    BucketTerms terms = SomeTerms(rng);
    Duration now = SomeTime(rng);
    Bucket bucket(terms, At(now));
    Model model(terms, now);
    for (int step = 0; step < 40; ++step) {
      const Duration passed_by = SomeTime(rng);
      if (passed_by < 0us) bucket.Draw(T(0), At(model.last));  // it has seen how late it was
      now += passed_by;
      model.Advance(now);
      const Tokens cost = T(rng.Below(10) == 0 ? 1e300 : SomeAmount(rng));
      ASSERT_EQ(bucket.CanPay(cost, At(now)), model.CanPay(cost));
      // The instant: it passes then, and a microsecond before it does not.
      if (const auto at = bucket.CanPayAt(cost, At(now))) {
        ASSERT_GE(*at, At(now));
        ASSERT_TRUE(bucket.CanPay(cost, *at));
        if (*at > At(now)) {
          ASSERT_FALSE(bucket.CanPay(cost, *at - 1us));
        }
        Model later = model;
        later.Advance(at->time_since_epoch());
        ASSERT_TRUE(later.CanPay(cost));
      } else if (model.count > 0 && model.Taken(cost) <= model.count + model.burst) {
        // The clock ends before.
        Model later = model;
        later.Advance(Duration(std::numeric_limits<std::int64_t>::max()));
        ASSERT_FALSE(later.CanPay(cost));
      }
      // The lookahead, draw by draw.
      const Duration horizon = std::max<Duration>(0us, SomeTime(rng));
      const std::uint64_t payable = bucket.PayableWithin(horizon, cost, At(now));
      if (cost > Tokens{} && payable < 200) {
        Bucket ahead = bucket;
        std::uint64_t passed = 0;
        const Instant begin = At(std::max(now, model.last));  // time stands still where it goes back
        for (Instant t = begin; passed <= 200; ++passed) {
          const auto next = ahead.CanPayAt(cost, t);
          if (!next || *next > begin + horizon) break;
          ahead.Draw(cost, t = *next);
        }
        // Where a microsecond's refill does not fit above the cost, some of it runs over.
        const Rational room = model.count + model.burst - model.Taken(cost);
        if (room >= model.count / model.window) {
          ASSERT_EQ(payable, passed);
        } else {
          ASSERT_GE(payable, passed);
          ASSERT_EQ(payable == 0, passed == 0);
        }
      }
      if (model.CanPay(cost) && rng.Below(4) != 0) {
        ASSERT_EQ(Rational(bucket.Draw(cost, At(now)).amount.millionths, 1'000'000), model.Taken(cost));
        model.level -= model.Taken(cost);
      }
      if (rng.Below(6) == 0) {
        const Duration window = terms.window;
        terms = SomeTerms(rng);
        if (rng.Below(2) == 0) terms.window = window;  // else rounded down, which the model does as well
        bucket.Update(terms, At(now));
        if (terms.window != window) {
          const Rational unit = Rational(1, 1'000'000) / terms.window.count();
          const Rational units = model.level / unit;
          boost::multiprecision::cpp_int whole = numerator(units) / denominator(units);
          if (whole * denominator(units) > numerator(units)) --whole;
          model.level = Rational(whole) * unit;
        }
        model.Set(terms);
        model.level = std::min(model.level, model.count);
      }
      ASSERT_DOUBLE_EQ(bucket.Level(At(now)), static_cast<double>(model.level));
    }
  }
}

TEST(BucketProperty, NoIntervalPassesMoreThanCountAndBurstAndRefillAlsoWithRefunds) {
  struct Start {
    Duration at;
    Tokens amount;
  };
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const BucketTerms terms = Terms(1 + rng.Unit() * 20, Duration(1 + static_cast<std::int64_t>(rng.Below(5'000'000))),
                                    rng.Unit() * 5, rng.Below(2) == 0 ? 0 : 1 + rng.Unit() * 3);
    Bucket bucket(terms, At(0s));
    Duration now{};
    std::vector<Start> starts;
    std::vector<std::pair<Bucket::Taking, Duration>> open;
    for (int step = 0; step < 400; ++step) {
      if (rng.Below(2) == 0) now += Duration(static_cast<std::int64_t>(rng.Below(1 + terms.window.count() / 4)));
      const Tokens cost = T(rng.Unit() * 6);
      if (bucket.CanPay(cost, At(now))) open.emplace_back(bucket.Draw(cost, At(now)), now);
      while (!open.empty() && rng.Below(2) == 0) {
        const std::size_t which = rng.Below(open.size());
        const auto [taking, at] = open[which];
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
        if (rng.Below(3) == 0) {
          bucket.Refund(taking, At(now));
        } else {
          starts.push_back({at, taking.amount});
        }
      }
    }
    for (const auto& [taking, at] : open) starts.push_back({at, taking.amount});
    std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
    for (std::size_t from = 0; from < starts.size(); ++from) {
      __int128 sum = 0;
      for (std::size_t to = from; to < starts.size(); ++to) {
        sum += starts[to].amount.millionths;
        const __int128 window = terms.window.count();
        const __int128 most = (__int128{terms.count.millionths} + terms.burst.millionths) * window +
                              __int128{terms.count.millionths} * (starts[to].at - starts[from].at).count();
        ASSERT_LE(sum * window, most) << from << " to " << to;
      }
    }
  }
}

// Draws that are given back before the bucket could have run over leave no trace.
TEST(BucketProperty, WhatIsGivenBackInTimeLeavesNoTrace) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const BucketTerms terms = Terms(5 + rng.Unit() * 20, 10s, 3);
    Bucket bucket(terms, At(0s)), without(terms, At(0s));
    Duration now{};
    for (int round = 0; round < 30; ++round) {
      now += Duration(static_cast<std::int64_t>(rng.Below(3'000'000)));
      std::vector<Bucket::Taking> back;
      for (std::uint64_t i = 0, n = rng.Below(8); i < n; ++i) {
        const Tokens cost = T(rng.Unit() * 3);
        if (!bucket.CanPay(cost, At(now))) continue;
        const Bucket::Taking taking = bucket.Draw(cost, At(now));
        if (rng.Below(2) == 0) {
          back.push_back(taking);
        } else {
          without.Draw(cost, At(now));
        }
      }
      now += Duration(static_cast<std::int64_t>(rng.Below(500'000)));
      for (const Bucket::Taking& taking : back) bucket.Refund(taking, At(now));
      // Nothing is made up, and where nothing ran over, nothing is missing.
      ASSERT_LE(bucket.Level(At(now)), without.Level(At(now)) + 1e-9);
      if (without.Level(At(now)) < terms.count.number()) {
        ASSERT_EQ(bucket.CanPayAt(T(6), At(now)), without.CanPayAt(T(6), At(now)));
      } else {
        ASSERT_EQ(bucket.Level(At(now)), terms.count.number());
      }
    }
  }
}

}  // namespace
}  // namespace allot

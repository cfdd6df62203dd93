// SPDX-License-Identifier: Apache-2.0
// A token bucket that is exact: it holds whole numbers, of which no refill, however small, loses anything.
//
// It begins with `count` tokens, is refilled evenly by `count` per `window`, and never holds more than `count`. A draw
// of cost c passes if tokens + burst >= min(c, max_burst_cost), and then takes that much: no draw takes the level below
// -burst, though it may be there under terms with a smaller burst than those that it was drawn under. So over any
// interval no more passes than count + burst + what was refilled.
//
// Arithmetic: an amount is a number of millionths of a token. The level is kept in millionths divided by the window in
// microseconds: in that unit a microsecond refills just `count` millionths, a whole number. With
// bounds::kMaxLimitTokens and kMaxLimitWindow it stays far below 2^127.
//
// Time is passed in. Where it goes backwards, it is taken to stand still.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace allot {

struct Tokens {
  std::int64_t millionths = 0;

  // The nearest millionth; what is above 0 stays above 0. Negative ones and NaN are 0, and what is beyond all buckets
  // (count + burst) is kTooMany.
  static Tokens Of(double number);
  static Tokens Of(std::int64_t number);
  double number() const { return static_cast<double>(millionths) / 1e6; }
  friend auto operator<=>(Tokens, Tokens) = default;
};
inline constexpr Tokens kTooMany{4'000'000'000'000'000'000};

// REQUIRES, wherever one is given: 0 <= count, burst, max_burst_cost <= bounds::kMaxLimitTokens,
//                                  0 < window <= bounds::kMaxLimitWindow.
struct BucketTerms {
  Tokens count;
  Duration window{};
  Tokens burst;           // how deep it may go below 0
  Tokens max_burst_cost;  // no draw costs more than that; 0: as much as it costs
  friend bool operator==(const BucketTerms&, const BucketTerms&) = default;
};

class Bucket {
 public:
  Bucket(const BucketTerms& terms, Instant now);

  const BucketTerms& terms() const { return terms_; }
  // In tokens, as a fraction; below 0 in debt.
  double Level(Instant now) const;
  // What a draw of that cost takes: the cost, or its cap.
  Tokens Taken(Tokens cost) const;

  // A cost of 0 always passes; with a count of 0 nothing else does.
  bool CanPay(Tokens cost, Instant now) const;
  // Can it be paid by the full bucket?
  bool CanEverPay(Tokens cost) const;
  // The first instant from `now` on at which such a draw passes, if there is none before; none if it never does.
  std::optional<Instant> CanPayAt(Tokens cost, Instant now) const;
  // How many draws of that cost pass from `now` to now + `horizon`, both included, if there are no others; all that can
  // be counted where the cost is 0. A few too many at most, and never where none passes, for a cost so close to
  // count + burst that the refill of a microsecond does not fit in between: some of that runs over.
  std::uint64_t PayableWithin(Duration horizon, Tokens cost, Instant now) const;

  // What it can pay from `now` to now + `horizon` in all, to be shared among draws of several costs.
  class Purse;
  Purse Within(Duration horizon, Instant now) const;

  // What a draw has taken, for Refund().
  struct Taking {
    std::uint64_t moment = 0;
    Tokens amount;
  };
  // REQUIRES: CanPay().
  Taking Draw(Tokens cost, Instant now);
  // Gives a draw back, as if it had not been: not what the bucket, full by now or in between, would have had no room
  // for. Of the draws of the last kMomentsKept instants; of earlier ones nothing comes back. Once for each draw.
  void Refund(const Taking& taking, Instant now);
  static constexpr std::size_t kMomentsKept = 256;

  // Other terms from now on. Keeps the level: refilled at the old rate up to now, then cut to the new count. What is
  // owed stays owed, also where it is more than the new burst. So no sequence of updates lets a draw pass that the
  // terms in force would not have.
  void Update(const BucketTerms& terms, Instant now);

 private:
  using Wide = __int128;
  // What the draws of one instant may still get back.
  struct Moment {
    Instant at;
    Wide open;
  };

  Wide Scaled(Tokens amount) const { return Wide{amount.millionths} * terms_.window.count(); }
  Wide At(Instant now) const;
  void Advance(Instant now);
  // Sees to level + all that is open <= count.
  void Forget();

  BucketTerms terms_;
  Wide level_ = 0;  // at last_
  Instant last_;
  std::deque<Moment> moments_;  // by time
  std::uint64_t first_moment_ = 0;
  Wide open_ = 0;  // of all moments
};

// Holds nothing of the bucket. With draws of one cost alone it pays for as many as PayableWithin() says.
class Bucket::Purse {
 public:
  // How many draws of that cost it still pays for.
  std::uint64_t Draws(Tokens cost) const;
  // REQUIRES: draws <= Draws(cost).
  void Take(Tokens cost, std::uint64_t draws);

 private:
  friend class Bucket;
  Purse(const BucketTerms& terms, Wide left) : terms_(terms), left_(left) {}

  BucketTerms terms_;
  Wide left_;
};

}  // namespace allot

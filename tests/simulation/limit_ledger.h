// SPDX-License-Identifier: Apache-2.0
// What one limit pays for, kept by hand: the bucket as the documents define it, in whole numbers, with all that was
// ever drawn from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "limits/limit.h"

namespace allot::simulation {

class LimitLedger {
 public:
  // Windows divide this, so that no amount is ever rounded.
  static constexpr std::int64_t kWindows = 60'000'000;

  // REQUIRES, here and in Update(): the window divides kWindows.
  LimitLedger(const LimitSpec& spec, Instant now);
  // Keeps the level, but for what is above the new count.
  void Update(const LimitSpec& spec, Instant now);

  // May a start of that cost (millionths) begin? `surely`: also if the engine has lost the least fraction in a change
  // of windows.
  bool Pays(std::int64_t cost, Instant now, bool surely = false) const;
  // REQUIRES: Pays().
  void Draw(std::uint64_t start, std::int64_t cost, Instant now);
  // That start never left. Starts that drew nothing from here are none of its business.
  void Refund(std::uint64_t start, Instant now);

  double Level(Instant now) const;
  std::uint64_t allowed() const { return allowed_; }
  double cost_allowed() const { return static_cast<double>(cost_allowed_) / 1e6; }

  // Goes through all of its life: without what was refunded every start was payable, and no interval had more than the
  // definition allows. What is wrong; empty: nothing.
  std::string Audit() const;

 private:
  using Wide = __int128;
  struct Terms {
    std::int64_t count = 0, burst = 0, most = 0;  // millionths
    std::int64_t refill = 0;                      // in a microsecond, in millionths / kWindows
    Wide full() const { return Wide{count} * kWindows; }
    Wide deepest() const { return -Wide{burst} * kWindows; }
    std::int64_t Takes(std::int64_t cost) const { return most > 0 && cost > most ? most : cost; }
  };
  struct Event {
    Instant at;
    bool update = false;
    Terms terms;            // of an update
    std::int64_t cost = 0;  // of a draw
    bool refunded = false;
  };
  // What may still come back of the draws of one instant.
  struct Round {
    Instant at;
    Wide open = 0;
  };
  struct Drawn {
    std::size_t event = 0;
    Instant at;
  };

  static Terms TermsOf(const LimitSpec& spec);
  static Wide Refilled(Wide level, const Terms& terms, Duration time);
  void Advance(Instant now);

  Terms terms_;
  Wide level_ = 0;  // at last_, in millionths / kWindows
  Instant last_;
  std::vector<Round> moments_;
  std::map<std::uint64_t, Drawn> drawn_;
  std::vector<Event> life_;
  std::uint64_t allowed_ = 0;
  std::int64_t cost_allowed_ = 0;
};

}  // namespace allot::simulation

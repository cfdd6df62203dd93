// SPDX-License-Identifier: Apache-2.0
// How much the engine does at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace allot {

// While anyone is registered, a tick comes at least this often; a later one shows that the server stood still.
inline constexpr Duration kTickEvery = std::chrono::seconds(1);
// Units of work in one Tick(); one is about a microsecond, so that others are served within 2 ms.
inline constexpr std::size_t kTickBudget = 1000;
// The same inside a command, for what it sets off: small queues are through with it at once, large ones by and by.
inline constexpr std::size_t kSmallBudget = 1500;

// Starts in one command; who is left waits for the next tick, in the same order.
inline constexpr std::size_t kGrantsAtOnce = 2000;
// Leases that end because their worker left, and workers that are told that a job has ended, in one command or tick.
inline constexpr std::size_t kLeasesAtOnce = 2000;

// Classes of a batch that was given up, in one command or tick; with many kinds of workers fewer: each of so many kinds
// costs as much as a class.
inline constexpr std::size_t kUnstagedAtOnce = 100;
inline constexpr std::size_t kKindsPerUnstaged = 20;

// What a unit of Orders::cost() takes.
inline constexpr std::int64_t kOrderNanoseconds = 1000;

// How long, and how many, orders of single pulls' strategies are kept after the pull.
inline constexpr Duration kOrderLingers = std::chrono::seconds(60);
inline constexpr std::size_t kMaxLingering = 8;

// A group of jobs that no limit has blocked for so long need not stand apart in the orders any more: each that does
// costs every pick a question.
inline constexpr Duration kGroupStandsApart = std::chrono::seconds(3);
// Groups that are open and stand apart at a time, where many can pay at the same moment. Which of them comes first is
// asked of those alone; they join the others before more are opened.
inline constexpr std::size_t kMaxOpened = 1024;
// How many of them are asked about in one command. Whoever asks gets one start, however many that takes.
inline constexpr std::size_t kAsksAtOnce = 8 * kMaxOpened;
// Leases of which it is known what they drew, so that it can be given back.
inline constexpr std::size_t kMaxDraws = 100'000;

// How often queues of workers are levelled, where some have fallen behind.
inline constexpr Duration kSweepEvery = std::chrono::seconds(1);

// How often it is looked at why classes do not run, where anything about workers has changed.
inline constexpr Duration kReasonsEvery = std::chrono::seconds(1);

// What building the orders of a large queue may take: for each command that was served meanwhile, so that it has about
// a third of the time; and at once, while nobody wants anything.
inline constexpr std::size_t kBuildBesides = 16;
inline constexpr std::size_t kBuildAtRest = 250;

// New workers, and looks, may go beyond the memory budget by a part in so many: what is there must be worked off.
inline constexpr std::size_t kBudgetReserve = 20;

}  // namespace allot

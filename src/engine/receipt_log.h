// SPDX-License-Identifier: Apache-2.0
// The last starts of a queue, and how each was decided, in a hundred bytes or two each.
//
// They stand one behind the other in pieces of memory, which are taken as they fill and used anew when all that is in
// them is too old: so a start costs no search and, but for the first of a piece, no memory. What the starts of one pull
// have in common is there once, before the first of them. Words are made when somebody asks. What was copied stays true
// when the job and the worker are gone.
//
// Threading:  confined to the queue's engine thread.
// Invariants: at least the last kReceiptsKept starts are there, unless those take more than kMostPieces pieces (where
//             strategies go by many long values); serials increase; a piece begins with what is in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/jobs/job.h"
#include "engine/receipts.h"
#include "strategy/trace.h"

namespace allot {

class ReceiptLog {
 public:
  // What starts of one worker in one command have in common, as long as none of the numbers changes.
  struct Common {
    std::uint64_t worker = 0;   // 0: none
    std::uint64_t version = 0;  // of classes_open and classes_matched
    // That decided; an order may be replaced between two starts of one command. Alive as long as the last piece is.
    const StrategyPair* strategies = nullptr;
    std::uint32_t classes_open = 0, classes_matched = 0, blocked_by_limits = 0;
    KindId kind = 0;      // of the worker
    bool ranked = false;  // it ranks some job that is open
    DispatchMode mode = DispatchMode::kFanout;
    std::int64_t at = 0;
  };

  // A command begins: nothing is in common with those before.
  void BeginCommand() { common_.worker = 0; }
  // What was given to Begin() last.
  const Common& common() const { return common_; }
  // The starts that follow have that in common; `strategies` and `name` are the worker's.
  void Begin(const Common& common, const std::shared_ptr<const StrategyPair>& strategies, const std::string& name);
  // A start that is about to happen: as it stands before the orders are updated. False if there is no room: then
  // NewPiece(), Begin(), and once more. REQUIRES: Begin(), in this command.
  bool Add(const EngineJob& job, const Lease& lease, TakenFrom from, std::size_t limits_met, const TracedPick& pick) {
    if (end_ - next_ < static_cast<std::ptrdiff_t>(sizeof(Start) + kMostName)) return false;
    const std::string& user = job.terms->user;
    Start& start = *::new (next_) Start;
    start.text = static_cast<std::uint8_t>(std::min(user.size(), kMostName));
    start.from = from;
    start.limits_met = static_cast<std::uint32_t>(limits_met);
    start.serial = lease.task.lease.serial;
    start.job = job.id().value;
    start.since = ToMillis(std::max(job.submitted_at, job.key.scheduled_for));
    start.index = lease.task.index;
    start.attempt = lease.attempt;
    char* const trace = CopyText(user.data(), start.text, next_ + sizeof(Start));
    char* const end = WriteTrace(pick, trace, end_);
    if (end == nullptr) return false;
    start.bytes = Aligned(static_cast<std::size_t>(end - next_));
    next_ += start.bytes;
    ++added_;
    return true;
  }

  // What follows is in another piece of memory, where any start has room.
  void NewPiece();

  // The last one of that task.
  std::optional<Receipt> Find(JobId job, TaskIndex index) const;
  // Newest first, below that serial, of that user's jobs; at most so many.
  std::vector<Receipt> List(std::optional<std::uint64_t> before, std::size_t limit,
                            std::optional<std::string_view> user) const;
  std::size_t MemoryBytes() const;

  static constexpr std::size_t kPieceBytes = 256 * 1024;
  static constexpr std::size_t kMostPieces = 64;
  static constexpr std::size_t kMostName = 255;  // longer ones are cut; none that is allowed is

 private:
  // In a piece; the user and the trace follow.
  struct Start {
    std::uint32_t bytes = 0;  // with all that follows
    std::uint8_t text = 0;    // of these, those of the user; of what is in common, those of the worker's name
    bool common = false;      // it is no start, but what those behind it have in common
    TakenFrom from = TakenFrom::kShared;
    std::uint32_t limits_met = 0;
    std::uint64_t serial = 0;
    std::uint64_t job = 0;
    std::int64_t since = 0;  // when the job could run
    TaskIndex index = 0;
    std::uint32_t attempt = 0;
  };
  struct CommonStart;
  struct Piece {
    std::unique_ptr<char[]> bytes;
    std::uint64_t first = 0;  // how many starts came before its first
    std::uint64_t starts = 0;
    std::size_t used = 0;                                         // while it is not the last one
    std::vector<std::shared_ptr<const StrategyPair>> strategies;  // that its starts were decided by, each once
  };
  struct Place {
    const Piece* piece;
    std::size_t common, start;
  };

  static std::uint32_t Aligned(std::size_t bytes) { return (static_cast<std::uint32_t>(bytes) + 7) & ~7u; }
  // From the newest to the oldest, as long as it is true.
  void Visit(const std::function<bool(const Place&, const Start&)>& visit) const;
  static std::string_view UserAt(const Place& place, const Start& start);
  static Receipt Read(const Place& place, const Start& start);

  std::deque<Piece> pieces_;  // the oldest first
  char* next_ = nullptr;      // in the last one
  char* end_ = nullptr;
  Common common_;
  std::uint64_t added_ = 0;
};

}  // namespace allot

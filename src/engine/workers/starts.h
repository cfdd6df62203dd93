// SPDX-License-Identifier: Apache-2.0
// Starts: which job a worker gets next, and which waiting worker is served first.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/jobs/job.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class Starts {
 public:
  explicit Starts(EngineParts& parts) : p_(parts) {}

  // Of one command.
  void Begin();
  void Allow(std::size_t grants) { grants_left_ = grants; }
  // Grants up to the worker's credit. True if it got anything; `more`: all that it wanted, so that there may be more.
  bool Serve(EngineWorker& worker, bool* more = nullptr);
  // Waiting workers of these kinds pull until none finds anything: those first whom a job of the opened classes ranks
  // highest, then the longest waiting.
  void Wake(std::vector<KindId> kinds, const std::vector<ClassId>& opened);
  // All for whom something may have opened.
  void WakeWaiting();
  std::uint64_t pops() const { return pops_; }

 private:
  // The job that the worker is to start next, paid for; null: none. Counts what it did beside looking, and gives up
  // where that is too much for one command.
  EngineJob* Next(EngineWorker& worker, LimitTable::Drawn& drawn, std::size_t& work);
  // It has paid so many limits.
  Lease& GrantOne(EngineWorker& worker, EngineJob& job, TaskIndex index, std::size_t limits_met,
                  std::vector<Grant>& grants);
  // Who waits and was promised something gets it.
  void ServeNewlyPromised();
  // That start was picked and is granted, by which the orders are still to be updated.
  void NoteStart(const EngineWorker& worker, const EngineJob& job, const Lease& lease, TakenFrom from,
                 std::size_t limits_met);
  void BeginStarts(const EngineWorker& worker, const StrategyIndex& index);

  EngineParts& p_;
  std::size_t grants_left_ = 0;  // in this command
  std::size_t asks_left_ = 0;    // likewise: of groups that are open and stand apart
  std::uint64_t pops_ = 0;       // tasks that were found for a worker
};

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// The way of a job: it opens and closes, changes its state, ends, and is dropped.
#pragma once

#include <cstdint>

#include "engine/jobs/job.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class JobFlow {
 public:
  explicit JobFlow(EngineParts& parts) : p_(parts) {}

  // After any change of a job's tasks or state: open or not, counted, wakers noted.
  void Refresh(EngineJob& job);
  // The one place that opens a job and closes it, in all stages. Whoever puts it into another class lets it stay in its
  // group of those that are alike to limits.
  enum class Grouping : std::uint8_t { kAnew, kKept };
  void Open(EngineJob& job, Grouping grouping);
  void Close(EngineJob& job, Grouping grouping);

  void SetState(EngineJob& job, JobState state);
  void Settle(EngineJob& job);  // ends it if nothing is left, or too much failed
  void End(EngineJob& job, JobState state, JobReason reason);
  void LogState(EngineJob& job);
  void LogHeader(EngineJob& job);
  // After its retention; and out of every table.
  void Forget(EngineJob& job);
  void Drop(EngineJob& job);

 private:
  EngineParts& p_;
};

}  // namespace allot

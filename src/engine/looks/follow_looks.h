// SPDX-License-Identifier: Apache-2.0
// Looks for those who follow a job: workers that are given its tasks, and clients that want results as they complete.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backlog/task_set.h"
#include "engine/looks/views.h"

namespace allot {

struct EngineParts;

// A reader of what a job's tasks come to, in the order in which they end: what it has, and where it looks next.
struct ResultsReader {
  TaskSet sent;
  std::uint32_t page = 0;     // where the next look begins
  std::uint32_t clean = 0;    // so many pages before it have nothing new, as far as the round of looks has come
  std::uint32_t checked = 0;  // so many pages before it: what `sent` has of them has really ended
  bool ended = false;         // the job had, at the last look
};

class FollowLooks {
 public:
  explicit FollowLooks(const EngineParts& parts) : p_(parts) {}

  // What a worker may know of it. kUnknownJob.
  Result<JobHeaderView> Header(JobId job) const;

  enum class More {
    kNo,     // the reader has all that has ended
    kMaybe,  // it looked at as many pages as it may, or has as many as it wants
    kEnd,    // and the job has ended: nothing will come any more
  };
  struct Ends {
    std::vector<EndedTask> tasks;
    More more = More::kNo;
  };
  // At most `most` tasks that have ended and that the reader does not have, which has them from now on. Looks at a
  // bounded part of the job; with `news` there may be some on pages that had none. What the reader has and what has not
  // ended, as after a retry, it has no more. kUnknownJob.
  Result<Ends> TakeEnds(JobId job, ResultsReader& reader, std::size_t most, bool news) const;

 private:
  const EngineParts& p_;
};

}  // namespace allot

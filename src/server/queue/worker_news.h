// SPDX-License-Identifier: Apache-2.0
// What a round says to workers: gathered while it runs, then one delivery for each thread that has their links, in
// which each worker's news are one message where they can be.
//
// Threading:  NewsBox is confined to its round; links deliver on their own threads.
// Invariants: of one worker nothing overtakes; an acknowledgement is a message's first, so each has one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/looks/views.h"
#include "engine/types.h"
#include "server/queue/outbox.h"

namespace allot {

// What is sent to a worker, in one message if possible.
struct WorkerNews {
  std::uint32_t answers = 0;  // messages of the worker that this answers, whether or not there is anything to say
  std::optional<std::uint64_t> ack;
  std::vector<std::pair<TaskRef, ReportVerdict>> stale;
  std::vector<Grant> grants;
  // Of jobs, by the place of the first grant that they are to go with.
  std::vector<std::pair<std::size_t, JobHeaderView>> headers;
  std::vector<StopRequest> stop_requests;
  bool drain = false;
  std::unique_ptr<WorkerChange> set;  // others changed it
  std::optional<Error> error;
  std::optional<std::uint64_t> seq;  // of the message that `error` answers
  bool close = false;                // nothing comes after this

  // Adds what comes next, if both can be one message: tasks travel with the acknowledgement of the message that asked
  // for them. False, changing nothing, otherwise.
  bool Join(WorkerNews& next);
};

class WorkerLink {
 public:
  explicit WorkerLink(Executor& executor) : executor_(executor) {}
  virtual ~WorkerLink() = default;
  Executor& executor() const { return executor_; }
  // On its own thread.
  virtual void Deliver(WorkerNews news) = 0;

 private:
  friend class NewsBox;
  static constexpr std::size_t kNone = SIZE_MAX;
  Executor& executor_;
  std::size_t last_ = kNone;  // for the round under way: where its last news are
};
using WorkerLinkPtr = std::shared_ptr<WorkerLink>;

class NewsBox {
 public:
  bool empty() const { return news_.empty(); }
  void Add(const WorkerLinkPtr& link, WorkerNews news);
  // Before all that is in `outbox`: a task should not wait until the answer to its submit is written. Empties the box.
  void MoveTo(Outbox& outbox);

 private:
  struct ForOne {
    WorkerLinkPtr link;
    WorkerNews news;
  };
  static void Deliver(std::vector<ForOne>& news);

  std::vector<ForOne> news_;
};

}  // namespace allot

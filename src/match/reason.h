// SPDX-License-Identifier: Apache-2.0
// Why a job does not run, in one word, and what to do about it.
#pragma once

#include <cstdint>
#include <string_view>

namespace allot {

// What to do about it.
// Changing it: the texts are on the wire. Add, never rename; the same for the enums below.
enum class Advice : std::uint8_t {
  kWait,           // nothing: it comes by itself
  kChangeRequest,  // as it is, no worker will run it
  kOperator,       // whoever runs the queue or its workers
};
std::string_view AdviceText(Advice advice);  // `wait`, `change_request`, `operator`

enum class ReasonCode : std::uint8_t {
  kEnded,                  // done, failed or cancelled
  kEmpty,                  // a spec without tasks
  kRunning,                // whatever of it is left runs
  kJobPaused,              //
  kQueuePaused,            //
  kScheduled,              // its time has not come
  kBackoff,                // all that waits does so for its next attempt
  kNoWorkers,              // none at all
  kTagNeverSeen,           // a tag that no worker has had since the server started
  kTagGone,                // a tag whose last worker left
  kTagUnavailable,         // a tag whose workers are all draining or away
  kTagsApart,              // each tag is there, but no worker has all of them
  kConstraintUnmet,        // no worker with its tags has the properties
  kRequirementsNeverTrue,  // not true for any worker that there could be
  kRequirementsUnmet,      // not true for any worker that comes so far
  kWorkersRefuse,          // those that fit have requirements of their own
  kWorkersDraining,        // those that could run it take nothing new
  kWorkersAway,            // those that could run it lost their connection
  kAllBusy,                // those that could run it have no free slot
  kCanStart,               // nothing is in its way
  kMismatch,               // of one worker: a condition does not hold
  kBeingMatched,           // the queue is still working out which workers may run it
  kLimit,                  // a limit blocks it
  kLimitOvertaken,         // the same, and cheaper starts keep it waiting
  kLimitNever,             // the same, and it can never pay
  kMaxSimultaneous,        // as many of its value run as the policy, or every strategy, allows
  kNotSelected,            // no strategy of the workers that may run it gives it out
  kBehind,                 // others come first
  kPromised,               // it is in the queues of workers that are busy
  kNoMatch,                // no registered worker may run it: which condition fails is for explain to say
};
std::string_view ReasonText(ReasonCode code);  // `tag_never_seen`

// How grave it is, 0 being the gravest: it will never start as things are; somebody must run the queue or its workers
// otherwise; the job must be changed; it waits, runs, or is next. Of several reasons the gravest is the headline.
int Gravity(Advice advice, ReasonCode code);

}  // namespace allot

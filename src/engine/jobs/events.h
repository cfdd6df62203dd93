// SPDX-License-Identifier: Apache-2.0
// The facts of the journal. A fact is applied, never decided again.
//
// Changing it: types are persisted. Add at the end; never change the fields of one.
#pragma once

#include <cstdint>

namespace allot {

enum class EventType : std::uint8_t {
  kSubmit = 1,   // job, count, header
  kGrant,        // job, index, serial, worker, attempt, wall time in ms
  kDone,         // job, index, serial (0: none was live)
  kFailed,       // job, index, serial
  kWait,         // job, index, serial, attempts used, due time in ms
  kRelease,      // job, index, serial, attempts used
  kHeader,       // job, header
  kState,        // job, state, reason, ended at in ms, reviving, revive from
  kRevive,       // job, page
  kRemoved,      // job
  kQueuePaused,  // 0 or 1
};

}  // namespace allot

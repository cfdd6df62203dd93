// SPDX-License-Identifier: Apache-2.0
// Handing a queue's records and events out: all of it as of one moment, or what came behind a position.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "store/postgres/database.h"
#include "store/store.h"

namespace allot::postgres {

struct Garbage {
  std::int64_t seq, job, set;
};

// What Load() leaves to know.
struct Found {
  Position position = 0;  // of the last event, or the floor
  Position floor = 0;
  std::uint64_t journal_rows = 0;
  std::deque<Garbage> garbage;
  std::vector<std::uint64_t> loose;       // sets that are to be asked about, in order
  std::vector<std::uint64_t> broken_off;  // those that go already, and of which no job speaks
};

// First phase: the queue as it is at one moment, whoever works on it.
Result<Found> LoadSnapshot(PostgresDatabase& database, std::int64_t queue, const Store::Loader& loader);
// Second phase, by the owner: what was committed behind found.position, which moves on. Fails with kUnavailable if the
// owner before has folded events behind it: then all begins anew.
Result<void> LoadTail(PostgresDatabase& database, std::int64_t queue, const Store::Loader& loader, Found& found);

Error CorruptRow(const char* table);

}  // namespace allot::postgres

// SPDX-License-Identifier: Apache-2.0
// The queues of a database, by name and number.
//
// Threading: any thread; each call asks the database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/postgres/database.h"

namespace allot::postgres {

// The number of a queue, which is made if it is not there.
Result<std::int64_t> NumberOf(PostgresDatabase& database, const std::string& name);
// The same for one that must not be there yet: `writer` has it from the beginning. kQueueExists if it is there.
Result<std::int64_t> MakeQueue(PostgresDatabase& database, const std::string& name, const std::string& writer);
// In order.
Result<std::vector<std::string>> ListQueues(PostgresDatabase& database);
// It is gone at once; what it leaves behind goes in steps. Fine if there is none.
Result<void> DeleteQueue(PostgresDatabase& database, const std::string& name);
// One step of that: true while there is more.
Result<bool> SweepDeleted(PostgresDatabase& database);

}  // namespace allot::postgres

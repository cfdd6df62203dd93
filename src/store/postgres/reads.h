// SPDX-License-Identifier: Apache-2.0
// Reading payloads and outcomes beside the owner's connection.
//
// Threading: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/packed/payload_cache.h"
#include "store/postgres/database.h"
#include "store/store.h"

namespace allot::postgres {

std::span<const Statement> ReadStatements();

// The payload of one task, from `cache` or else from the database; what lies behind it is put into `cache` with it.
Result<std::optional<std::string>> ReadPayload(PostgresDatabase& database, std::int64_t queue, JobId set,
                                               std::int64_t index, sqlite::PayloadCache& cache);
// Of several, as Store::ReadPayloads(): what is not in `cache` in one round trip.
std::vector<Store::PayloadRead> ReadPayloads(PostgresDatabase& database, std::int64_t queue,
                                             std::span<const Store::PayloadKey> keys, std::size_t max_bytes,
                                             sqlite::PayloadCache& cache);
Result<std::vector<Outcome>> ReadOutcomes(PostgresDatabase& database, std::int64_t queue,
                                          const Store::OutcomeQuery& query);

}  // namespace allot::postgres

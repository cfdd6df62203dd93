// SPDX-License-Identifier: Apache-2.0
// What a queue file looks like, and how an old one becomes a new one.
//
// Changing it: add migrations/NNNN_name.sql with the next number; never edit one that was released. The file's
// user_version is the number of the last migration applied; application_id tells our files from others.
#pragma once

#include <span>

#include "base/result.h"
#include "store/sqlite/sql.h"

namespace allot::sqlite {

inline constexpr std::int64_t kApplicationId = 0x416C6C74;  // "Allt"

struct Migration {
  const char* name;  // NNNN_name
  const char* text;
};
// Numbered from 1, in order.
std::span<const Migration> Migrations();

// Whose file this is, without changing it. Fails with kStoreForeign, kStoreCorrupt, or kStoreNewer.
// Gives the number of the last migration applied, 0 for a new, empty file.
Result<std::int64_t> CheckFile(Database& db, std::span<const Migration> migrations);

// Applies what `db` lacks, each in a transaction of its own.
Result<void> Migrate(Database& db, std::span<const Migration> migrations);

}  // namespace allot::sqlite

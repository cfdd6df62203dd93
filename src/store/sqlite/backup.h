// SPDX-License-Identifier: Apache-2.0
// Copies of queue files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/journal/group.h"
#include "store/sqlite/sql.h"

namespace allot::sqlite {

// A consistent copy of `from`, which may be in use, as the new file `to`, with those of `young` that are not in it yet:
// these must have been looked up before. It appears under its name once it is whole and durable. Fails with
// kStoreFailed if `to` exists. While it runs, the log of `from` cannot begin anew, so that it grows by what is written
// meanwhile.
Result<void> BackUp(const std::string& from, const std::string& vfs, const std::string& to, journal::Groups young);

// The new file `to`, made by `write`, which gets the name that it has until it is whole and durable. Fails with
// kStoreFailed if `to` exists; when it fails, nothing is left.
Result<void> MakeNewFile(const std::string& to, const std::function<Result<void>(const std::string& part)>& write);

// Whether `file` is whole and undamaged (check.h).
Result<void> VerifyBackup(const std::string& file);

// A file alone, opened without making others beside it.
Result<Database> OpenImmutable(const std::string& file);

// Makes a copy of a backup ready to be used: as a store of its own, in today's form, without the settings `forget`.
Result<void> PrepareRestored(const std::string& file, std::span<const std::string_view> forget);
// Before `file` is replaced: moves its journal and its log into it, so that either the old one or the new one is whole
// at any time. Of one that would not start any more, the log is put aside. REQUIRES: its lock.
Result<void> MakeWay(const std::string& file);

}  // namespace allot::sqlite

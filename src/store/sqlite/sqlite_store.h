// SPDX-License-Identifier: Apache-2.0
// A queue in one SQLite file, with a journal of its own before it: a commit is durable when it is in the journal
// (store/journal/); SQLite takes many of them at once, later.
//
// Files:   FILE, FILE-wal, FILE-shm and FILE.journal-1, -2, ... while it is in use, FILE.lock, FILE.mark.
// Opening: fails with kStoreLocked while another server has it, kStoreForeign if it is no file of this program,
//          kStoreNewer if a newer program wrote it, kStoreCorrupt, kDiskFull, or kStoreFailed (a directory that cannot
//          be written, ...). Each says what to do. A foreign, newer or corrupt file is not changed. kStoreCorrupt is
//          also what is missing of what was once promised (recovery.h), unless `accept_loss` says to go on without it.
// In use:  files that are removed or replaced make the next commit fail with kStoreFailed, within a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/journal/block_file.h"
#include "store/store.h"

namespace allot {

struct SqliteOptions {
  std::string file;                                    // made if it is not there; its directory is not
  std::size_t payload_cache_bytes = 32 << 20;          //
  std::size_t max_readers = 4;                         // connections for Read...(); made when first needed
  int log_pages = 2048;                                // of the write-ahead log, before it is moved into the file
  std::string vfs;                                     // tests: one that SQLite knows already; empty: its default
  journal::Writing writing = journal::Writing::kAuto;  // how the journal is written
  // Goes on without what was promised and is missing; `on_loss` is told what that is, in sentences for people.
  bool accept_loss = false;
  std::function<void(const std::string& what)> on_loss;
  // Told when a file of an earlier format was brought to today's.
  std::function<void(const std::string& file, std::int64_t from, std::int64_t to)> on_migrated;
};

class SqliteStore {
 public:
  static Result<std::unique_ptr<Store>> Open(const SqliteOptions& options);
  // Whether `file` is a whole, undamaged queue file that Open() would take; reads all of it.
  static Result<void> VerifyBackup(const std::string& file);

  // Before a copy of a backup takes the place of `file`, and on that copy: see sqlite/backup.h.
  static Result<void> MakeWay(const std::string& file);
  static Result<void> PrepareRestored(const std::string& copy, std::span<const std::string_view> forget_settings);
};

}  // namespace allot

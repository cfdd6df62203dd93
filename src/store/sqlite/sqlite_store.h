// A queue in one SQLite file: write-ahead log, synced at every commit.
//
// Files:   FILE, FILE-wal and FILE-shm while it is in use, FILE.lock.
// Opening: fails with kStoreLocked while another server has it, kStoreForeign if it is no file of this program,
//          kStoreNewer if a newer program wrote it, kStoreCorrupt, kDiskFull, or kStoreFailed (a directory that cannot
//          be written, ...). Each says what to do. A foreign, newer or corrupt file is not changed.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace allot {

struct SqliteOptions {
  std::string file;                            // made if it is not there; its directory is not
  std::size_t payload_cache_bytes = 32 << 20;  //
  std::size_t max_readers = 4;                 // connections for Read...(); made when first needed
  int log_pages = 2048;                        // of the write-ahead log, before it is moved into the file
  std::string vfs;                             // tests: kPowerLossVfs, or another registered one
};

class SqliteStore {
 public:
  static Result<std::unique_ptr<Store>> Open(const SqliteOptions& options);
  // Whether `file` is a whole, undamaged queue file that Open() would take; reads all of it.
  static Result<void> VerifyBackup(const std::string& file);
};

}  // namespace allot

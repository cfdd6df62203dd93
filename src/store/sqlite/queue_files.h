// SPDX-License-Identifier: Apache-2.0
// The queues of a data directory, as files: which there are, where each one is, and how one is removed.
//
// Files:     DATA/queues/NAME.db, and beside it what sqlite_store.h lists. Outside of this folder nobody composes or
// reads
//            these names; another kind of store would have a class like this one.
// Threading: any thread. It keeps names only, and looks at the directory when asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace allot::sqlite {

class QueueFiles {
 public:
  explicit QueueFiles(const std::string& data) : folder_(data + "/queues") {}

  // Where the files are. It is not made here.
  const std::string& folder() const { return folder_; }

  // The file of a queue, there or not: what SqliteStore, FileLock and CheckQueueFile() take.
  // REQUIRES: a valid name of a queue.
  std::string FileOf(std::string_view queue) const;

  // The names of all queues, in order; also of those whose file is missing while its log, its mark or its journal is
  // there. Some may be no valid names of queues: files of others. Fails with kStoreFailed; the message is only why, for
  // the caller to say what it could not read.
  Result<std::vector<std::string>> List() const;

  // Removes a queue's files. Cut short, it is finished by FinishDeletion(), or by the next SqliteStore::Open() of it.
  Result<void> Delete(std::string_view queue) const;
  // Whether the queue was deleted; if so, what is left of its files goes.
  Result<bool> FinishDeletion(std::string_view queue) const;

  // Whether `file` is a queue's own, there or missing, and not a backup: it has a log, a mark or a journal beside it.
  static bool IsQueueFile(const std::string& file);

 private:
  std::string folder_;
};

}  // namespace allot::sqlite

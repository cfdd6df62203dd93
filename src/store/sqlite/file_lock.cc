// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace allot::sqlite {

Result<FileLock> FileLock::Take(const std::string& file) {
  FileLock lock;
  const std::string name = file + ".lock";
  lock.fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock.fd_ < 0) {
    const int error = errno;
    return Error{error == ENOSPC || error == EDQUOT ? Code::kDiskFull : Code::kStoreFailed,
                 "cannot write " + name + ": " + std::strerror(error),
                 error == ENOENT ? "make the directory first" : "make the directory writable for this user"};
  }
  while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return Error{Code::kStoreLocked, file + " is in use by another server",
                   "stop the other server, or use another data directory"};
    }
    return Error{Code::kStoreFailed, "cannot lock " + name + ": " + std::strerror(errno), ""};
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace allot::sqlite

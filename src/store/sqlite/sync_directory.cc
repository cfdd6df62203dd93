// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sync_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace allot::sqlite {

Result<void> SyncDirectoryOf(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  // Some file systems cannot sync a directory, and need not.
  if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (fd >= 0) close(fd);
  if (error == 0) return {};
  return Error{Code::kStoreFailed, "cannot sync " + directory + ": " + std::strerror(error), ""};
}

}  // namespace allot::sqlite

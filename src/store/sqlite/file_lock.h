// SPDX-License-Identifier: Apache-2.0
// Keeps two servers off one file. The lock ends with the process that holds it, however that ends.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace allot::sqlite {

class FileLock {
 public:
  FileLock() = default;
  // Locks `file`.lock, which it makes if need be and leaves there. Fails with kStoreLocked while another one holds it.
  static Result<FileLock> Take(const std::string& file);
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock();

 private:
  int fd_ = -1;
};

}  // namespace allot::sqlite

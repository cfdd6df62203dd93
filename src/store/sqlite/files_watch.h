// SPDX-License-Identifier: Apache-2.0
// Notices that files in use were removed, replaced or cut: writing goes on into files that nobody will find again, and
// no call fails.
//
// Threading: one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace allot::sqlite {

class FilesWatch {
 public:
  // Remembers which files these names are now.
  Result<void> Begin(std::vector<std::string> names);
  // kStoreFailed if one of the names is another file now, or none. Looks only if the last look is some time back.
  Result<void> CheckSometimes() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return {};
    next_ = now + kEvery;
    return Check();
  }
  Result<void> Check() const;

 private:
  static constexpr std::chrono::milliseconds kEvery{200};
  struct Watched {
    std::string name;
    dev_t device = 0;
    ino_t inode = 0;
  };
  std::vector<Watched> files_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace allot::sqlite

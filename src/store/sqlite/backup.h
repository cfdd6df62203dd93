// Copies of queue files.
#pragma once

#include <string>

#include "base/result.h"

namespace allot::sqlite {

// A consistent copy of `from`, which may be in use, as the new file `to`. It appears under its name once it is whole
// and durable. Fails with kStoreFailed if `to` exists.
// While it runs, the log of `from` cannot begin anew, so that it grows by what is written meanwhile.
Result<void> BackUp(const std::string& from, const std::string& vfs, const std::string& to);

Result<void> VerifyBackup(const std::string& file);

}  // namespace allot::sqlite

// SPDX-License-Identifier: Apache-2.0
// Makes the names in a directory durable.
#pragma once

#include <string>

#include "base/result.h"

namespace allot::sqlite {

// The directory that `file` is in.
Result<void> SyncDirectoryOf(const std::string& file);

}  // namespace allot::sqlite

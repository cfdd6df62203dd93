// SPDX-License-Identifier: Apache-2.0
// Result<T>, Error and Code: they are the library's (include/allotter/result.h), and everybody's here.
#pragma once

#include "allotter/result.h"
#include "base/check.h"

namespace allot {

// The HTTP status that goes with it.
int HttpStatus(Code code);

}  // namespace allot

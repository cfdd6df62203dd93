// SPDX-License-Identifier: Apache-2.0
// Result<T> and Error: how every call of this library fails.
//
// A call that could not reach the server, or lost it before the answer came, fails with Code::kUnavailable; everything
// else is the server's own answer. Its codes are in docs/reference/errors.md, with what to do about each.
//
// Codes that this version does not know become kInternal; message and hint are always those of the server.
#pragma once

#include "base/result.h"

namespace allotter {

using Code = allot::Code;
using Error = allot::Error;
template <typename T>
using Result = allot::Result<T>;
using allot::CodeText;

}  // namespace allotter

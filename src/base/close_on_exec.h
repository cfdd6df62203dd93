// SPDX-License-Identifier: Apache-2.0
// Descriptors stay with this process: no program that it starts inherits them.
//
// Asio makes and accepts sockets without the flag, so whoever gets one from it sets the flag. Between the two there is
// a gap: where a program is started, everything above standard error is closed in the child as well.
#pragma once

#include <fcntl.h>

namespace allot {

inline void CloseOnExec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace allot

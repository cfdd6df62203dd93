// SPDX-License-Identifier: Apache-2.0
// What Ctrl-C leaves behind, said as it ends the program: whoever broke something off wants to know what became of it.
//
// Threading: from the main thread alone.
#pragma once

#include <string>

namespace allot::cli {

// From now on SIGINT writes `text` and a newline to stderr and exits with ExitCode::kInterrupted. May be called again:
// the last text counts.
void SayOnInterrupt(const std::string& text);

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
// The whole command line.
#pragma once

namespace allot::cli {

// Returns the exit code.
int Main(int argc, char** argv);

}  // namespace allot::cli

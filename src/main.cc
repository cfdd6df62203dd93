// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>

#include "base/memory.h"
#include "cli/app.h"

int main(int argc, char** argv) {
  allot::JoinFreeMemoryAtOnce();
  // Where a loader of its own started it, lists of processes would show that one's name.
  prctl(PR_SET_NAME, "allot");
  return allot::cli::Main(argc, argv);
}

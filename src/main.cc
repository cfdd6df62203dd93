// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "cli/app.h"

int main(int argc, char** argv) {
  allot::JoinFreeMemoryAtOnce();
  return allot::cli::Main(argc, argv);
}

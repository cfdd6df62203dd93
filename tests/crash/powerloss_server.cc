// SPDX-License-Identifier: Apache-2.0
// `allot` on a disk that forgets what was not synced: killing it is a loss of power (store/sqlite/testing_powerloss.h).
//
// ALLOT_POWERLOSS_CHANCE: how likely an unsynced sector has reached the disk all the same.
#include <sqlite3.h>

#include <cstdlib>
#include <random>

#include "cli/app.h"
#include "store/sqlite/testing_powerloss.h"

int main(int argc, char** argv) {
  allot::PowerLoss::Register();
  const char* chance = std::getenv("ALLOT_POWERLOSS_CHANCE");
  if (chance != nullptr) allot::PowerLoss::SetChance(std::strtod(chance, nullptr), std::random_device()());
  // As the default, the program takes it without knowing.
  if (sqlite3_vfs_register(sqlite3_vfs_find(allot::kPowerLossVfs), 1) != SQLITE_OK) return 70;
  return allot::cli::Main(argc, argv);
}

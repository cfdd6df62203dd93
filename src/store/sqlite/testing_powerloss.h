// SPDX-License-Identifier: Apache-2.0
// For tests: a file system for SQLite whose disk forgets, at a power cut, what was not synced.
//
// Writes are kept in memory until the file is synced, and only then reach the real file; so a process that is killed
// has lost them as well, and a real server can run on it. Some writes reach the disk before they are synced, whole or
// torn into sectors, by chance. Making and deleting files counts as durable at once.
//
// Threading: all functions may be called from any thread. There is one such disk a process.
#pragma once

#include <cstdint>

namespace allot {

inline constexpr char kPowerLossVfs[] = "allot-powerloss";

class PowerLoss {
 public:
  // Makes kPowerLossVfs known to SQLite; more than once does nothing. Seeds the choices anew for every process.
  static void Register();

  // How likely an unsynced sector has reached the disk all the same, in [0, 1], and the seed of the choices.
  static void SetChance(double reaches_disk, std::uint64_t seed);

  // The power goes at the nth write, sync or truncation from now on (1: the next): from then on every access fails.
  static void CutAfter(std::uint64_t operations);
  static bool IsCut();
  // The power is back; what was not synced is gone. REQUIRES: all files are closed.
  static void Restore();

  // While true, whatever would make a file longer fails as on a full disk.
  static void SetDiskFull(bool full);
};

}  // namespace allot

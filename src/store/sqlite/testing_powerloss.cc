// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/testing_powerloss.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "base/check.h"
#include "base/rng.h"

namespace allot {
namespace {

constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kSector = 512;

// What the running system believes a file to be, as far as the disk does not know it yet.
struct FileState {
  std::map<std::int64_t, std::array<char, kBlock>> unsynced;  // by block number
  std::int64_t size = 0;
  // The real file counts only up to here: the rest was cut off since the last sync.
  std::int64_t real_end = std::numeric_limits<std::int64_t>::max();
  int open = 0;
};

struct Disk {
  std::recursive_mutex mutex;
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs vfs{};
  std::map<std::string, std::unique_ptr<FileState>> files;
  Rng rng{0};
  double chance = 0;
  std::uint64_t operations_left = 0;  // 0: the power stays
  bool cut = false;
  bool full = false;

  // Counts one operation; false if the power goes with it.
  bool Tick() {
    if (operations_left > 0 && --operations_left == 0) cut = true;
    return !cut;
  }
};

Disk& TheDisk() {
  static Disk disk;
  return disk;
}

struct File {
  sqlite3_file base;
  FileState* state;  // nullptr: a temporary file, passed through
  const char* name;
};

File* Mine(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* Real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(Mine(file) + 1); }

// The bytes from `offset` on as the running system sees them; zeros behind the end.
int ReadThrough(sqlite3_file* file, char* out, std::int64_t count, std::int64_t offset) {
  const FileState& state = *Mine(file)->state;
  std::memset(out, 0, static_cast<std::size_t>(count));
  const std::int64_t real = std::min(count, std::min(state.size, state.real_end) - offset);
  if (real > 0) {
    const int code = Real(file)->pMethods->xRead(Real(file), out, static_cast<int>(real), offset);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  }
  for (auto it = state.unsynced.lower_bound(offset / kBlock); it != state.unsynced.end(); ++it) {
    const std::int64_t from = std::max(offset, it->first * kBlock);
    const std::int64_t to = std::min(offset + count, (it->first + 1) * kBlock);
    if (from >= to) break;
    std::memcpy(out + (from - offset), it->second.data() + (from - it->first * kBlock),
                static_cast<std::size_t>(to - from));
  }
  return SQLITE_OK;
}

int Close(sqlite3_file* file) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  FileState* state = Mine(file)->state;
  if (state != nullptr && --state->open == 0 && state->unsynced.empty() && !disk.cut &&
      state->real_end == std::numeric_limits<std::int64_t>::max()) {
    disk.files.erase(Mine(file)->name);
  }
  return Real(file)->pMethods->xClose(Real(file));
}

int Read(sqlite3_file* file, void* out, int count, sqlite3_int64 offset) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.cut) return SQLITE_IOERR_READ;
  if (Mine(file)->state == nullptr) return Real(file)->pMethods->xRead(Real(file), out, count, offset);
  const int code = ReadThrough(file, static_cast<char*>(out), count, offset);
  if (code != SQLITE_OK) return code;
  return offset + count > Mine(file)->state->size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

// What happens to reach the disk before it is synced: all of it, some sectors, or nothing.
int ReachDiskByChance(sqlite3_file* file, const char* in, std::int64_t count, std::int64_t offset) {
  Disk& disk = TheDisk();
  const double luck = disk.rng.Unit();
  if (luck >= disk.chance) return SQLITE_OK;
  const bool torn = luck < disk.chance / 2;
  for (std::int64_t at = offset; at < offset + count;) {
    const std::int64_t next = std::min(offset + count, (at / kSector + 1) * kSector);
    if (!torn || disk.rng.Below(2) == 0) {
      const int code = Real(file)->pMethods->xWrite(Real(file), in + (at - offset), static_cast<int>(next - at), at);
      if (code != SQLITE_OK) return code;
    }
    at = next;
  }
  return SQLITE_OK;
}

int Write(sqlite3_file* file, const void* in, int count, sqlite3_int64 offset) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.cut) return SQLITE_IOERR_WRITE;
  FileState* state = Mine(file)->state;
  if (state == nullptr) return Real(file)->pMethods->xWrite(Real(file), in, count, offset);
  if (disk.full && offset + count > state->size) return SQLITE_FULL;
  const bool power = disk.Tick();
  const char* bytes = static_cast<const char*>(in);
  const std::int64_t end = offset + count;
  for (std::int64_t block = offset / kBlock; block * kBlock < end; ++block) {
    auto it = state->unsynced.find(block);
    if (it == state->unsynced.end()) {
      std::array<char, kBlock> content;
      const int code = ReadThrough(file, content.data(), kBlock, block * kBlock);
      if (code != SQLITE_OK) return code;
      it = state->unsynced.emplace(block, content).first;
    }
    const std::int64_t from = std::max<std::int64_t>(offset, block * kBlock);
    const std::int64_t to = std::min(end, (block + 1) * kBlock);
    std::memcpy(it->second.data() + (from - block * kBlock), bytes + (from - offset),
                static_cast<std::size_t>(to - from));
  }
  state->size = std::max(state->size, end);
  const int code = ReachDiskByChance(file, bytes, count, offset);
  if (code != SQLITE_OK) return code;
  return power ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.cut) return SQLITE_IOERR_TRUNCATE;
  FileState* state = Mine(file)->state;
  if (state == nullptr) return Real(file)->pMethods->xTruncate(Real(file), size);
  const bool power = disk.Tick();
  state->unsynced.erase(state->unsynced.lower_bound((size + kBlock - 1) / kBlock), state->unsynced.end());
  if (const auto last = state->unsynced.find(size / kBlock); last != state->unsynced.end()) {
    std::fill(last->second.begin() + size % kBlock, last->second.end(), '\0');
  }
  state->size = size;
  state->real_end = std::min<std::int64_t>(state->real_end, size);
  if (disk.rng.Unit() < disk.chance) {
    const int code = Real(file)->pMethods->xTruncate(Real(file), size);
    if (code != SQLITE_OK) return code;
  }
  return power ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int Sync(sqlite3_file* file, int flags) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  FileState* state = Mine(file)->state;
  if (state == nullptr) return Real(file)->pMethods->xSync(Real(file), flags);
  if (!disk.Tick()) return SQLITE_IOERR_FSYNC;
  const sqlite3_io_methods* real = Real(file)->pMethods;
  sqlite3_int64 real_size = 0;
  int code = real->xFileSize(Real(file), &real_size);
  if (code == SQLITE_OK && real_size > state->real_end) code = real->xTruncate(Real(file), state->real_end);
  for (auto it = state->unsynced.begin(); code == SQLITE_OK && it != state->unsynced.end(); ++it) {
    const std::int64_t count = std::min(kBlock, state->size - it->first * kBlock);
    if (count > 0) code = real->xWrite(Real(file), it->second.data(), static_cast<int>(count), it->first * kBlock);
  }
  if (code == SQLITE_OK) code = real->xFileSize(Real(file), &real_size);
  if (code == SQLITE_OK && real_size != state->size) code = real->xTruncate(Real(file), state->size);
  if (code != SQLITE_OK) return code;
  state->unsynced.clear();
  state->real_end = std::numeric_limits<std::int64_t>::max();
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.cut) return SQLITE_IOERR_FSTAT;
  if (Mine(file)->state == nullptr) return Real(file)->pMethods->xFileSize(Real(file), size);
  *size = Mine(file)->state->size;
  return SQLITE_OK;
}

int Lock(sqlite3_file* file, int level) { return Real(file)->pMethods->xLock(Real(file), level); }
int Unlock(sqlite3_file* file, int level) { return Real(file)->pMethods->xUnlock(Real(file), level); }
int CheckReservedLock(sqlite3_file* file, int* out) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), out);
}
int FileControl(sqlite3_file* file, int op, void* argument) {
  // These would make the real file longer.
  if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
  return Real(file)->pMethods->xFileControl(Real(file), op, argument);
}
int SectorSize(sqlite3_file* file) { return Real(file)->pMethods->xSectorSize(Real(file)); }
int DeviceCharacteristics(sqlite3_file* file) { return Real(file)->pMethods->xDeviceCharacteristics(Real(file)); }
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); }
int ShmUnmap(sqlite3_file* file, int remove) { return Real(file)->pMethods->xShmUnmap(Real(file), remove); }

constexpr sqlite3_io_methods kMethods = {2,
                                         Close,
                                         Read,
                                         Write,
                                         Truncate,
                                         Sync,
                                         FileSize,
                                         Lock,
                                         Unlock,
                                         CheckReservedLock,
                                         FileControl,
                                         SectorSize,
                                         DeviceCharacteristics,
                                         ShmMap,
                                         ShmLock,
                                         ShmBarrier,
                                         ShmUnmap,
                                         nullptr,
                                         nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  file->pMethods = nullptr;
  if (disk.cut) return SQLITE_CANTOPEN;
  const int code = disk.real->xOpen(disk.real, name, Real(file), flags, out_flags);
  if (code != SQLITE_OK) return code;
  Mine(file)->state = nullptr;
  Mine(file)->name = name;
  constexpr int kTracked = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  if (name != nullptr && (flags & kTracked) != 0) {
    std::unique_ptr<FileState>& state = disk.files[name];
    if (!state) {
      state = std::make_unique<FileState>();
      sqlite3_int64 size = 0;
      const int sized = Real(file)->pMethods->xFileSize(Real(file), &size);
      if (sized != SQLITE_OK) {
        Real(file)->pMethods->xClose(Real(file));
        return sized;
      }
      state->size = size;
    }
    ++state->open;
    Mine(file)->state = state.get();
  }
  file->pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char* name, int sync_directory) {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.cut) return SQLITE_IOERR_DELETE;
  if (const auto it = disk.files.find(name); it != disk.files.end() && it->second->open == 0) disk.files.erase(it);
  return disk.real->xDelete(disk.real, name, sync_directory);
}

}  // namespace

void PowerLoss::Register() {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  if (disk.real != nullptr) return;
  disk.real = sqlite3_vfs_find(nullptr);
  CHECK(disk.real != nullptr);
  disk.vfs = *disk.real;
  disk.vfs.pNext = nullptr;
  disk.vfs.zName = kPowerLossVfs;
  disk.vfs.szOsFile = static_cast<int>(sizeof(File)) + disk.real->szOsFile;
  disk.vfs.xOpen = Open;
  disk.vfs.xDelete = Delete;
  CHECK(sqlite3_vfs_register(&disk.vfs, 0) == SQLITE_OK);
  std::random_device device;
  disk.rng = Rng((std::uint64_t{device()} << 32) | device());
  disk.chance = static_cast<double>(device() % 3) / 4;
}

void PowerLoss::SetChance(double reaches_disk, std::uint64_t seed) {
  const std::lock_guard lock(TheDisk().mutex);
  TheDisk().chance = reaches_disk;
  TheDisk().rng = Rng(seed);
}

void PowerLoss::CutAfter(std::uint64_t operations) {
  const std::lock_guard lock(TheDisk().mutex);
  TheDisk().operations_left = operations;
}

bool PowerLoss::IsCut() {
  const std::lock_guard lock(TheDisk().mutex);
  return TheDisk().cut;
}

void PowerLoss::Restore() {
  Disk& disk = TheDisk();
  const std::lock_guard lock(disk.mutex);
  for (const auto& [name, state] : disk.files) CHECK(state->open == 0);
  disk.files.clear();
  disk.cut = false;
  disk.operations_left = 0;
}

void PowerLoss::SetDiskFull(bool full) {
  const std::lock_guard lock(TheDisk().mutex);
  TheDisk().full = full;
}

}  // namespace allot

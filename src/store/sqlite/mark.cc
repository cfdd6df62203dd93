// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "store/packed/checksum.h"
#include "store/sqlite/sync_directory.h"

namespace allot::sqlite {
namespace {

constexpr std::uint32_t kMarkVersion = 2;
constexpr off_t kSlotDistance = 4096;

// As it lies on the disk, little-endian as all of the store's own bytes.
struct Slot {
  char magic[8];
  std::uint32_t version;
  std::uint32_t state;
  std::uint64_t number;
  std::uint64_t store;
  std::uint64_t position;
  std::uint64_t sequence;  // version 1: the salts of the log
  std::uint32_t segments;  // version 1: its frames
  std::uint32_t reserved;
  std::uint32_t unused;
  std::uint32_t sum;  // of all before
};
static_assert(sizeof(Slot) == 64);
constexpr char kMarkMagic[8] = {'A', 'l', 'l', 't', 'M', 'a', 'r', 'k'};

std::uint32_t SumOf(const Slot& slot) {
  return Checksum({reinterpret_cast<const char*>(&slot), sizeof slot - sizeof slot.sum});
}

Error SystemError(const std::string& what, const std::string& name) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return {full ? Code::kDiskFull : Code::kStoreFailed, "cannot " + what + " " + name + ": " + std::strerror(errno),
          full ? "free some space on this disk" : "make the file and its directory writable for this user"};
}

bool IsWhole(const Slot& slot) {
  return std::memcmp(slot.magic, kMarkMagic, sizeof kMarkMagic) == 0 &&
         (slot.version == kMarkVersion || slot.version == 1) && slot.sum == SumOf(slot) &&
         slot.state >= static_cast<std::uint32_t>(MarkState::kNew) &&
         slot.state <= static_cast<std::uint32_t>(MarkState::kDeleted);
}

// The newer whole slot; none if both are damaged.
std::optional<Slot> ReadSlots(int fd) {
  std::optional<Slot> best;
  for (int i = 0; i < 2; ++i) {
    Slot slot;
    if (pread(fd, &slot, sizeof slot, i * kSlotDistance) != sizeof slot || !IsWhole(slot)) continue;
    if (!best || slot.number > best->number) best = slot;
  }
  return best;
}

// Nothing but zeros, or nothing at all.
bool IsBlank(int fd) {
  char bytes[kSlotDistance + sizeof(Slot)];
  const ssize_t size = pread(fd, bytes, sizeof bytes, 0);
  return size >= 0 && std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; });
}

}  // namespace

Result<Mark::Found> Mark::Read(const std::string& file) {
  const std::string name = MarkOf(file);
  Found found;
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return found;
    return SystemError("read", name);
  }
  found.there = true;
  if (const std::optional<Slot> slot = ReadSlots(fd)) {
    MarkContent content{static_cast<MarkState>(slot->state), slot->store, slot->position, 0, 0, {}};
    if (slot->version == 1) {
      content.log = {static_cast<std::uint32_t>(slot->sequence), static_cast<std::uint32_t>(slot->sequence >> 32),
                     slot->segments};
    } else {
      content.sequence = slot->sequence;
      content.segments = slot->segments;
    }
    found.content = content;
  }
  found.blank = IsBlank(fd);
  close(fd);
  return found;
}

Result<Mark> Mark::Open(const std::string& file, const MarkContent& content) {
  Mark mark;
  const std::string name = MarkOf(file);
  mark.fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (mark.fd_ < 0) return SystemError("write", name);
  if (const std::optional<Slot> slot = ReadSlots(mark.fd_)) mark.number_ = slot->number;
  // Both slots, so that later writes need no space.
  for (int i = 0; i < 2; ++i) {
    if (Result<void> done = mark.Write(content); !done) return done.error();
  }
  if (Result<void> done = mark.Sync(); !done) return done.error();
  if (Result<void> done = SyncDirectoryOf(name); !done) return done.error();
  return mark;
}

Mark& Mark::operator=(Mark&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(number_, other.number_);
  std::swap(content_, other.content_);
  return *this;
}

Mark::~Mark() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Mark::Write(const MarkContent& content) {
  Slot slot{};
  std::memcpy(slot.magic, kMarkMagic, sizeof kMarkMagic);
  slot.version = kMarkVersion;
  slot.state = static_cast<std::uint32_t>(content.state);
  slot.number = ++number_;
  slot.store = content.store;
  slot.position = content.position;
  slot.sequence = content.sequence;
  slot.segments = content.segments;
  slot.sum = SumOf(slot);
  if (pwrite(fd_, &slot, sizeof slot, static_cast<off_t>(number_ % 2) * kSlotDistance) != sizeof slot) {
    return SystemError("write", "the mark");
  }
  content_ = content;
  return {};
}

Result<void> Mark::Sync() {
  if (fdatasync(fd_) != 0) return SystemError("sync", "the mark");
  return {};
}

}  // namespace allot::sqlite

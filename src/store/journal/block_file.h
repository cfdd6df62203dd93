// SPDX-License-Identifier: Apache-2.0
// A file of whole blocks that is made at its full length, and then written over: each write is durable on return.
//
// A write that changes neither length nor blocks of a file needs nothing but itself: one O_DIRECT write with RWF_DSYNC.
// Where a file system refuses that, it is a write and an fdatasync().
//
// Threading: one thread at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace allot::journal {

inline constexpr std::size_t kBlockBytes = 4096;

inline constexpr std::size_t RoundUpToBlocks(std::size_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

enum class Writing {
  kAuto,    // direct if the file system can do it
  kDirect,  // O_DIRECT and RWF_DSYNC, or fail
  kSynced,  // write and fdatasync()
};

// How files are reached.
struct Disk {
  Writing writing = Writing::kAuto;
  // Tests: a file system that SQLite knows, whose files are used instead of the kernel's. As for SQLite, empty is its
  // default; that is the kernel's unless somebody registered another.
  std::string vfs;
};

class BlockFile {
 public:
  virtual ~BlockFile() = default;

  // A new file of zeros, durable with its name. Leaves nothing if it fails: kDiskFull, kStoreFailed.
  static Result<std::unique_ptr<BlockFile>> Make(const std::string& name, std::uint64_t bytes, const Disk& disk);
  // One that is there.
  static Result<std::unique_ptr<BlockFile>> Open(const std::string& name, const Disk& disk);

  // REQUIRES: `offset` and length are whole blocks within the file, and memory is aligned to a block. After an error
  // what is there is unknown, in these blocks alone.
  virtual Result<void> Write(std::uint64_t offset, std::span<const char> bytes) = 0;
  // What is behind the end reads as zeros. REQUIRES: nothing was written yet.
  virtual Result<void> Read(std::uint64_t offset, std::span<char> bytes) = 0;

  std::uint64_t bytes() const { return bytes_; }
  // How it is written, for people: "direct", "synced", or "other". Known once something was written.
  virtual const char* mode() const = 0;

 protected:
  std::uint64_t bytes_ = 0;
};

// Removes a file if it is there.
Result<void> RemoveBlockFile(const std::string& name, const Disk& disk);

// Memory that begins at a block, and only grows.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  // At least so much; what was in it is lost.
  char* Get(std::size_t bytes);

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace allot::journal

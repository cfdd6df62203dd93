// SPDX-License-Identifier: Apache-2.0
#include "store/journal/block_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "store/sqlite/sync_directory.h"

namespace allot::journal {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;  // written and read at once, where there is much

Error SystemError(const std::string& doing, const std::string& name, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return {full ? Code::kDiskFull : Code::kStoreFailed, "cannot " + doing + " " + name + ": " + std::strerror(error),
          full ? "free some space on this disk" : ""};
}

// A file of the kernel's.
class KernelFile final : public BlockFile {
 public:
  KernelFile(std::string name, int fd, std::uint64_t bytes, Writing writing)
      : name_(std::move(name)), fd_(fd), writing_(writing) {
    bytes_ = bytes;
  }
  ~KernelFile() override { close(fd_); }
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  Result<void> Write(std::uint64_t offset, std::span<const char> bytes) override {
    if (!prepared_) {
      if (Result<void> done = Prepare(); !done) return done;
    }
    if (direct_) {
      const int error = WriteDirect(offset, bytes);
      if (error == 0) return {};
      // Some file systems open such files, and then do not write to them.
      const bool refused = error == EINVAL || error == EOPNOTSUPP || error == ENOSYS;
      if (!refused || writing_ == Writing::kDirect || wrote_) return SystemError("write", name_, error);
      direct_ = false;
      if (fcntl(fd_, F_SETFL, 0) != 0) return SystemError("write", name_, errno);
    }
    return WriteSynced(offset, bytes);
  }

  Result<void> Read(std::uint64_t offset, std::span<char> bytes) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError("read", name_, errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    std::memset(bytes.data() + done, 0, bytes.size() - done);
    return {};
  }

  const char* mode() const override { return direct_ ? "direct" : "synced"; }

  // Writes zeros up to the end.
  Result<void> Fill() {
    // Space first, in one piece; a file system that cannot do that has it from the zeros.
    const int allocated = posix_fallocate(fd_, 0, static_cast<off_t>(bytes_));
    if (allocated == ENOSPC || allocated == EDQUOT || allocated == EFBIG) {
      return SystemError("write", name_, allocated);
    }
    const std::string zeros(std::min<std::size_t>(kPieceBytes, bytes_), '\0');
    for (std::uint64_t at = 0; at < bytes_;) {
      const ssize_t n =
          pwrite(fd_, zeros.data(), std::min<std::size_t>(zeros.size(), bytes_ - at), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return SystemError("write", name_, n < 0 ? errno : EIO);
      at += static_cast<std::uint64_t>(n);
    }
    if (fsync(fd_) != 0) return SystemError("sync", name_, errno);
    return {};
  }

 private:
  Result<void> Prepare() {
    prepared_ = true;
    direct_ = writing_ != Writing::kSynced && fcntl(fd_, F_SETFL, O_DIRECT) == 0;
    if (!direct_ && writing_ == Writing::kDirect) return SystemError("write directly to", name_, errno);
    return {};
  }

  // 0, or the system's error.
  int WriteDirect(std::uint64_t offset, std::span<const char> bytes) {
    while (!bytes.empty()) {
      const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
      const ssize_t n = pwritev2(fd_, &piece, 1, static_cast<off_t>(offset), RWF_DSYNC);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0 || static_cast<std::size_t>(n) % kBlockBytes != 0) return EIO;
      wrote_ = true;
      offset += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return 0;
  }

  Result<void> WriteSynced(std::uint64_t offset, std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return SystemError("write", name_, n < 0 ? errno : EIO);
      offset += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    if (fdatasync(fd_) != 0) {
      // What the kernel had in memory may be gone: another try that succeeds would prove nothing.
      return Error{Code::kStoreFailed, "cannot sync " + name_ + ": " + std::strerror(errno), ""};
    }
    return {};
  }

  const std::string name_;
  const int fd_;
  const Writing writing_;
  bool prepared_ = false;
  bool direct_ = false;
  bool wrote_ = false;  // directly, with success
};

// A file of one of SQLite's file systems.
class VfsFile final : public BlockFile {
 public:
  ~VfsFile() override {
    if (file_ != nullptr && file_->pMethods != nullptr) file_->pMethods->xClose(file_);
  }
  VfsFile(sqlite3_vfs* vfs, const std::string& name)
      : vfs_(vfs), name_(name), memory_(static_cast<std::size_t>(vfs->szOsFile)) {
    // SQLite wants what it calls parameters behind the name: none.
    name_.append(2, '\0');
    file_ = reinterpret_cast<sqlite3_file*>(memory_.data());
  }
  VfsFile(const VfsFile&) = delete;
  VfsFile& operator=(const VfsFile&) = delete;

  Result<void> Open(bool make) {
    const int flags = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE | (make ? SQLITE_OPEN_CREATE : 0);
    const int code = vfs_->xOpen(vfs_, name_.c_str(), file_, flags, nullptr);
    if (code != SQLITE_OK) return ErrorOf(code, "open");
    sqlite3_int64 bytes = 0;
    const int sized = file_->pMethods->xFileSize(file_, &bytes);
    if (sized != SQLITE_OK) return ErrorOf(sized, "look at");
    bytes_ = static_cast<std::uint64_t>(bytes);
    return {};
  }
  Result<void> Fill(std::uint64_t bytes) {
    const std::string zeros(std::min<std::size_t>(kPieceBytes, bytes), '\0');
    for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
      const auto n = std::min<std::uint64_t>(zeros.size(), bytes - at);
      const int code =
          file_->pMethods->xWrite(file_, zeros.data(), static_cast<int>(n), static_cast<sqlite3_int64>(at));
      if (code != SQLITE_OK) return ErrorOf(code, "write");
    }
    const int code = file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL);
    if (code != SQLITE_OK) return ErrorOf(code, "sync");
    bytes_ = bytes;
    return {};
  }

  Result<void> Write(std::uint64_t offset, std::span<const char> bytes) override {
    int code = file_->pMethods->xWrite(file_, bytes.data(), static_cast<int>(bytes.size()),
                                       static_cast<sqlite3_int64>(offset));
    if (code == SQLITE_OK) code = file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    if (code != SQLITE_OK) return ErrorOf(code, "write");
    return {};
  }
  Result<void> Read(std::uint64_t offset, std::span<char> bytes) override {
    const int code =
        file_->pMethods->xRead(file_, bytes.data(), static_cast<int>(bytes.size()), static_cast<sqlite3_int64>(offset));
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return ErrorOf(code, "read");
    return {};
  }
  const char* mode() const override { return "other"; }

 private:
  Error ErrorOf(int code, const std::string& doing) const {
    const bool full = (code & 0xff) == SQLITE_FULL;
    return {full ? Code::kDiskFull : Code::kStoreFailed,
            "cannot " + doing + " " + name_.c_str() + ": " + sqlite3_errstr(code),
            full ? "free some space on this disk" : ""};
  }

  sqlite3_vfs* const vfs_;
  std::string name_;
  std::vector<std::max_align_t> memory_;
  sqlite3_file* file_ = nullptr;
};

// The file system that is not the kernel's; none: it is.
sqlite3_vfs* OtherVfs(const Disk& disk) {
  sqlite3_initialize();
  sqlite3_vfs* vfs = sqlite3_vfs_find(disk.vfs.empty() ? nullptr : disk.vfs.c_str());
  if (vfs == nullptr || std::string_view(vfs->zName).starts_with("unix")) return nullptr;
  return vfs;
}

Result<std::unique_ptr<BlockFile>> MakeKernelFile(const std::string& name, std::uint64_t bytes, const Disk& disk) {
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("make", name, errno);
  auto file = std::make_unique<KernelFile>(name, fd, bytes, disk.writing);
  Result<void> done = file->Fill();
  if (done) done = sqlite::SyncDirectoryOf(name);
  if (done) return std::unique_ptr<BlockFile>(std::move(file));
  unlink(name.c_str());
  return done.error();
}

}  // namespace

Result<std::unique_ptr<BlockFile>> BlockFile::Make(const std::string& name, std::uint64_t bytes, const Disk& disk) {
  sqlite3_vfs* vfs = OtherVfs(disk);
  if (vfs == nullptr) return MakeKernelFile(name, bytes, disk);
  auto file = std::make_unique<VfsFile>(vfs, name);
  Result<void> done = file->Open(true);
  if (done) done = file->Fill(bytes);
  if (done) return std::unique_ptr<BlockFile>(std::move(file));
  file.reset();
  vfs->xDelete(vfs, name.c_str(), 0);
  return done.error();
}

Result<std::unique_ptr<BlockFile>> BlockFile::Open(const std::string& name, const Disk& disk) {
  if (sqlite3_vfs* vfs = OtherVfs(disk); vfs != nullptr) {
    auto file = std::make_unique<VfsFile>(vfs, name);
    if (Result<void> done = file->Open(false); !done) return done.error();
    return std::unique_ptr<BlockFile>(std::move(file));
  }
  int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EROFS)) fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return SystemError("read", name, error);
  }
  return std::unique_ptr<BlockFile>(
      std::make_unique<KernelFile>(name, fd, static_cast<std::uint64_t>(info.st_size), disk.writing));
}

Result<void> RemoveBlockFile(const std::string& name, const Disk& disk) {
  if (sqlite3_vfs* vfs = OtherVfs(disk); vfs != nullptr) {
    const int code = vfs->xDelete(vfs, name.c_str(), 0);
    if (code == SQLITE_OK || code == SQLITE_IOERR_DELETE_NOENT) return {};
    return Error{Code::kStoreFailed, "cannot remove " + name, ""};
  }
  if (unlink(name.c_str()) != 0 && errno != ENOENT) return SystemError("remove", name, errno);
  return {};
}

char* AlignedBuffer::Get(std::size_t bytes) {
  if (bytes > bytes_) {
    std::free(data_);
    bytes_ = RoundUpToBlocks(bytes);
    data_ = static_cast<char*>(std::aligned_alloc(kBlockBytes, bytes_));
    CHECK(data_ != nullptr);
  }
  return data_;
}

}  // namespace allot::journal

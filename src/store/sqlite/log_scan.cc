// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/log_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

namespace allot::sqlite {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kLogMagic = 0x377f0682;  // the last bit: words of the checksum are big-endian
constexpr std::uint32_t kLogVersion = 3007000;

std::uint32_t BigEndian(const unsigned char* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}
std::uint32_t LittleEndian(const unsigned char* p) {
  return std::uint32_t{p[3]} << 24 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[1]} << 8 | p[0];
}

// The running checksum of SQLite's log.
struct Sum {
  std::uint32_t s0 = 0, s1 = 0;
  friend bool operator==(const Sum&, const Sum&) = default;

  void Add(const unsigned char* p, std::size_t bytes, bool big_endian) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      s0 += (big_endian ? BigEndian(p + i) : LittleEndian(p + i)) + s1;
      s1 += (big_endian ? BigEndian(p + i + 4) : LittleEndian(p + i + 4)) + s0;
    }
  }
};
Sum StatedSum(const unsigned char* p) { return {BigEndian(p), BigEndian(p + 4)}; }

class OpenLog {
 public:
  explicit OpenLog(const std::string& name) : fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenLog() {
    if (fd_ >= 0) close(fd_);
  }
  OpenLog(const OpenLog&) = delete;
  OpenLog& operator=(const OpenLog&) = delete;
  int fd() const { return fd_; }
  // False at its end.
  bool Read(unsigned char* to, std::size_t bytes, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t n = pread(fd_, to + done, bytes - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  const int fd_;
};

// Reads the header; the checksum of an empty log if it is whole.
std::optional<Sum> ScanHeader(const OpenLog& log, LogScan& scan, bool& big_endian) {
  unsigned char header[kHeaderBytes] = {};
  if (!log.Read(header, sizeof header, 0)) return std::nullopt;
  for (const unsigned char byte : header) scan.blank = scan.blank && byte == 0;
  const std::uint32_t magic = BigEndian(header);
  if ((magic & ~1u) != kLogMagic || BigEndian(header + 4) != kLogVersion) return std::nullopt;
  big_endian = (magic & 1) != 0;
  Sum sum;
  sum.Add(header, 24, big_endian);
  if (sum != StatedSum(header + 24)) return std::nullopt;
  scan.page_bytes = BigEndian(header + 8);
  if (scan.page_bytes < 512 || scan.page_bytes > 65536 || (scan.page_bytes & (scan.page_bytes - 1)) != 0) {
    return std::nullopt;
  }
  scan.salt1 = BigEndian(header + 16);
  scan.salt2 = BigEndian(header + 20);
  scan.header = true;
  return sum;
}

}  // namespace

Result<LogScan> ScanLog(const std::string& file) {
  LogScan scan;
  const std::string name = file + "-wal";
  const OpenLog log(name);
  if (log.fd() < 0) {
    if (errno == ENOENT) return scan;
    return Error{Code::kStoreFailed, "cannot read " + name + ": " + std::strerror(errno),
                 "make the file and its directory readable for this user"};
  }
  scan.there = true;
  struct stat info {};
  if (fstat(log.fd(), &info) == 0) scan.bytes = static_cast<std::uint64_t>(info.st_size);
  bool big_endian = false;
  const std::optional<Sum> start = ScanHeader(log, scan, big_endian);
  if (!start) return scan;

  Sum before = *start;
  bool whole = true;      // so far
  bool neighbour = true;  // the frame before is of this log, so that `before` is what it states
  std::vector<unsigned char> frame(kFrameHeaderBytes + scan.page_bytes);
  for (std::uint32_t n = 0; log.Read(frame.data(), frame.size(), scan.OffsetOf(n)); ++n) {
    const bool own = BigEndian(frame.data() + 8) == scan.salt1 && BigEndian(frame.data() + 12) == scan.salt2;
    bool fits = false;
    if (own && neighbour) {
      Sum sum = before;
      sum.Add(frame.data(), 8, big_endian);
      sum.Add(frame.data() + kFrameHeaderBytes, scan.page_bytes, big_endian);
      fits = sum == StatedSum(frame.data() + 16) && BigEndian(frame.data()) != 0;
    }
    const bool ends_commit = BigEndian(frame.data() + 4) != 0;
    whole = whole && fits;
    if (whole) {
      scan.frames = n + 1;
      if (ends_commit) {
        scan.committed = n + 1;
        ++scan.commits;
      }
    } else if (fits && ends_commit) {
      ++scan.lost_commits;
    }
    before = StatedSum(frame.data() + 16);
    neighbour = own;
  }
  return scan;
}

}  // namespace allot::sqlite

// SPDX-License-Identifier: Apache-2.0
// A server under measurement: a child process with a fresh directory, ended and removed with its object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace allot::bench {

// A new directory below the system's temporary one (TMPDIR), removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  // Bytes that its files take on the disk.
  std::uint64_t DiskBytes() const;

 private:
  std::string path_;
};

class Child {
 public:
  Child() = default;
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Runs `command` with its output going to `log_file`. It dies with this process. REQUIRES: not running.
  void Start(const std::vector<std::string>& command, const std::string& log_file);
  // SIGTERM, and SIGKILL if it has not ended after `limit`. Returns its exit status, -1 if it was killed.
  int Stop(std::chrono::milliseconds limit = std::chrono::seconds(30));
  // SIGKILL.
  void Kill();

  bool running() const { return pid_ > 0; }
  // Failure if it has ended by itself.
  void CheckAlive();
  std::uint64_t RssBytes() const;
  double CpuSeconds() const;

 private:
  pid_t pid_ = -1;
};

// Of this process.
double OwnCpuSeconds();

}  // namespace allot::bench

// SPDX-License-Identifier: Apache-2.0
// Programs that a test starts, and the places that they live in. Everything ends with the object that started it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace allot::testing {

using std::chrono::milliseconds;

// A new, empty directory; removed with all that is in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);  // empty if there is none
void WriteFile(const std::string& path, const std::string& text);

// A port of 127.0.0.1 on which nothing listens, below those that the kernel hands out by itself: a server that is down
// for a moment finds it free again.
std::uint16_t FreePort();

// The program under test: $ALLOT_BIN.
std::string AllotBin();

struct Finished {
  int exit_code = -1;  // 128 + signal, as a shell says it
  std::string out;
  std::string err;
};

// Of its memory, what is in main memory.
std::uint64_t ResidentBytes(pid_t pid);

// A child process. Standard input is empty, output and error go to files of `dir`.
class Process {
 public:
  struct Options {
    std::vector<std::string> argv = {};
    std::vector<std::pair<std::string, std::string>> env = {};  // on top of this process's own
    std::string out_file = "/dev/null";
    std::string err_file = "/dev/null";  // appended to
    std::uint64_t max_file_bytes = 0;    // RLIMIT_FSIZE; 0: none
    uid_t uid = 0;                       // run as that user, where this process is root; 0: as this one
  };
  explicit Process(const Options& options);
  // Kills it, if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool Running();
  void Signal(int signal);
  // None if it has not ended by then.
  std::optional<int> Wait(milliseconds timeout);

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// Runs a program to its end, or kills it after `timeout` (exit_code 137).
Finished RunProgram(std::vector<std::string> argv, milliseconds timeout = milliseconds(20'000),
                    std::vector<std::pair<std::string, std::string>> env = {});

}  // namespace allot::testing

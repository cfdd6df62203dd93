// SPDX-License-Identifier: Apache-2.0
// What a commit costs, beside the least that a durable write can cost: one block, written over, with O_DIRECT and
// RWF_DSYNC. Both take turns, so that what else the disk does hits them alike.
//
// The files are made below TMPDIR: on a file system in memory the figures say nothing.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/sqlite/sqlite_store.h"

namespace allot {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBlock = 4096;
constexpr std::size_t kRawBlocks = 64;

double CpuMicros() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// A file of a few blocks, written once.
class RawFile {
 public:
  explicit RawFile(const std::string& name) : block_(static_cast<char*>(std::aligned_alloc(kBlock, kBlock))) {
    const std::string zeros(kRawBlocks * kBlock, '\0');
    const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size()) && fsync(fd) == 0);
    close(fd);
    fd_ = open(name.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
    std::fill(block_, block_ + kBlock, 'x');
  }
  ~RawFile() {
    if (fd_ >= 0) close(fd_);
    std::free(block_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;
  void Write() {
    if (fd_ < 0) return;
    const iovec piece{block_, kBlock};
    const auto at = static_cast<off_t>(next_++ % kRawBlocks * kBlock);
    CHECK(pwritev2(fd_, &piece, 1, at, RWF_DSYNC) == static_cast<ssize_t>(kBlock));
  }

 private:
  char* const block_;
  int fd_ = -1;
  std::size_t next_ = 0;
};

class Times {
 public:
  void Add(Clock::time_point began) {
    micros_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  double At(double part) {
    std::sort(micros_.begin(), micros_.end());
    return micros_[static_cast<std::size_t>(part * static_cast<double>(micros_.size() - 1))];
  }

 private:
  std::vector<double> micros_;
};

// A batch as `tasks` submits of one task make it, or as many reports.
std::vector<Batch> MakeBatches(std::size_t tasks, std::uint64_t& next) {
  std::vector<Batch> batches(tasks);
  for (Batch& batch : batches) {
    batch.position = ++next;
    batch.events.assign(60, 'e');
    batch.payloads.push_back({JobId{next}, 0, {std::string(50, 'p')}});
    batch.payloads_spoken_for = true;
    if (next > 2000) {
      batch.removals.push_back({JobId{next - 2000}, JobId{next - 2000}});
      batch.floor = next - 2000;
    }
  }
  return batches;
}

void Commit(benchmark::State& state) {
  std::string directory = (std::filesystem::temp_directory_path() / "allot-bench-XXXXXX").string();
  CHECK(mkdtemp(directory.data()) != nullptr);
  {
    SqliteOptions options;
    options.file = directory + "/queue.db";
    auto store = SqliteStore::Open(options);
    CHECK(store.ok());
    Store::Loader loader;
    loader.on_record = [](const Record&) -> Result<void> { return {}; };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    CHECK((*store)->Load(loader, [](JobId) { return true; }).ok());
    RawFile raw(directory + "/raw");
    Times raw_times, times;
    std::uint64_t next = 0;
    std::uint64_t commits = 0;
    double cpu = 0;
    for (auto _ : state) {
      auto began = Clock::now();
      raw.Write();
      raw_times.Add(began);
      const std::vector<Batch> batches = MakeBatches(static_cast<std::size_t>(state.range(0)), next);
      const double cpu_before = CpuMicros();
      began = Clock::now();
      CHECK((*store)->Commit(batches).ok());
      times.Add(began);
      // As the server does it under load.
      if (++commits % 64 == 0) CHECK((*store)->Tidy().ok());
      cpu += CpuMicros() - cpu_before;
    }
    state.counters["raw_p50_us"] = raw_times.At(0.5);
    state.counters["commit_p50_us"] = times.At(0.5);
    state.counters["commit_p99_us"] = times.At(0.99);
    state.counters["cpu_us"] = cpu / static_cast<double>(commits);
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK(Commit)->Arg(1)->Arg(27)->Iterations(3000)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// What a durable queue cannot be faster than on this machine: one synced write of 4 KiB, and one round trip to a
// process that answers at once.
//
//   allot_floor [SAMPLES]
//
// Both are taken in turn, so that they meet the same machine. Prints figures as JSON: of each, and of their sum.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/bench/child.h"
#include "cli/bench/figures.h"
#include "cli/bench/loop.h"

namespace allot::bench {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kFile = 16 * 1024 * 1024;

// A file that is there already, as a journal would be; one write is durable on return.
class DurableFile {
 public:
  explicit DurableFile(const std::string& path) : block_(static_cast<char*>(std::aligned_alloc(kBlock, kBlock))) {
    std::memset(block_.get(), 'x', kBlock);
    fd_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) throw Failure("no file can be made at " + path);
    for (std::size_t at = 0; at < kFile; at += kBlock)
      Check(::pwrite(fd_, block_.get(), kBlock, static_cast<off_t>(at)));
    if (::fsync(fd_) != 0) throw Failure("fsync failed");
    direct_ = ::fcntl(fd_, F_SETFL, O_DIRECT) == 0 && WriteDirect() == static_cast<ssize_t>(kBlock);
    if (!direct_) static_cast<void>(::fcntl(fd_, F_SETFL, 0));
  }
  ~DurableFile() { ::close(fd_); }
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void Write() {
    at_ = (at_ + kBlock) % kFile;
    if (direct_) return Check(WriteDirect());
    Check(::pwrite(fd_, block_.get(), kBlock, static_cast<off_t>(at_)));
    if (::fdatasync(fd_) != 0) throw Failure("fdatasync failed");
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  ssize_t WriteDirect() const {
    const iovec part{block_.get(), kBlock};
    return ::pwritev2(fd_, &part, 1, static_cast<off_t>(at_), RWF_DSYNC);
  }
  static void Check(ssize_t written) {
    if (written != static_cast<ssize_t>(kBlock)) throw Failure("a write failed");
  }

  std::unique_ptr<char, Free> block_;
  int fd_ = -1;
  bool direct_ = false;
  std::size_t at_ = 0;
};

// Answers each byte with a byte, on a thread of its own.
class Echo {
 public:
  Echo() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw Failure("cannot listen");
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw Failure("cannot connect");
    other_ = ::accept(listener, nullptr, nullptr);
    ::close(listener);
    for (const int fd : {fd_, other_}) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    thread_ = std::thread([fd = other_] {
      char byte[64];
      while (true) {
        const ssize_t n = ::recv(fd, byte, sizeof byte, 0);
        if (n <= 0 || ::send(fd, byte, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) return;
      }
    });
  }
  ~Echo() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
    ::close(other_);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void RoundTrip() const {
    char bytes[64] = {};
    if (::send(fd_, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes ||
        ::recv(fd_, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
      throw Failure("the connection broke");
  }

 private:
  int fd_ = -1, other_ = -1;
  std::thread thread_;
};

int Main(int argc, char** argv) {
  const int samples = argc > 1 ? std::atoi(argv[1]) : 5000;
  Figures figures;
  try {
    const TemporaryDirectory folder;
    DurableFile file(folder.path() + "/block");
    const Echo echo;
    std::vector<double> writes, trips, sums;
    const auto micros = [](SteadyClock::time_point from, SteadyClock::time_point to) {
      return std::chrono::duration<double, std::micro>(to - from).count();
    };
    for (int i = 0; i < samples; ++i) {
      const auto begun = SteadyClock::now();
      file.Write();
      const auto written = SteadyClock::now();
      echo.RoundTrip();
      const auto ended = SteadyClock::now();
      writes.push_back(micros(begun, written));
      trips.push_back(micros(written, ended));
      sums.push_back(micros(begun, ended));
    }
    figures.AddPercentiles("floor/write", writes, "us");
    figures.AddPercentiles("floor/round_trip", trips, "us");
    figures.AddPercentiles("floor/both", sums, "us");
  } catch (const Failure& failure) {
    std::fprintf(stderr, "allot_floor: %s\n", failure.what());
    return 1;
  }
  std::string out;
  figures.AppendJson(out);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) { return allot::bench::Main(argc, argv); }

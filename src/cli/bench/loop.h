// SPDX-License-Identifier: Apache-2.0
// One thread, many connections: what the load generators are made of, ours and those for peers alike, so that all are
// measured with the same cost on the client's side. Plain epoll: server and generator share the machine, and every
// microsecond that the generator needs is taken from what it measures.
//
// Threading: one thread. Links are destroyed outside RunUntil() only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace allot::bench {

using SteadyClock = std::chrono::steady_clock;

inline double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Ends the scenario. Thrown and caught inside the bench rooms only.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Link;

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Handles what comes in until `done`. Failure, naming `what`, if that takes longer than `limit`.
  void RunUntil(const std::function<bool()>& done, std::chrono::milliseconds limit, std::string_view what);
  // Called about ten times a second while it runs.
  std::function<void()> on_tick;

 private:
  friend class Link;
  static constexpr std::size_t kReadBytes = 256 * 1024;
  int epoll_;
  std::unique_ptr<char[]> buffer_;  // shared by all links; what is left over goes to the link
};

// A connection to a port of 127.0.0.1.
class Link {
 public:
  explicit Link(Loop& loop) : loop_(loop) {}
  virtual ~Link() { Close(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Begins to connect; OnOpen() or OnClosed() follows.
  void Connect(std::uint16_t port);
  // Written at once as far as the kernel takes it.
  void Send(std::string_view bytes);
  // No callback follows.
  void Close();
  bool open() const { return fd_ >= 0 && !connecting_; }

 protected:
  virtual void OnOpen() = 0;
  // Returns how many bytes are worked off; the others come again, with more behind them. At least kPadding bytes
  // behind `data` may be read.
  virtual std::size_t OnData(std::string_view data) = 0;
  // The other side has ended it, or connecting failed.
  virtual void OnClosed() { throw Failure("the server closed the connection"); }

 private:
  friend class Loop;
  void OnReadable();
  void OnWritable();
  void Ended();
  void Watch(std::uint32_t events);

  Loop& loop_;
  int fd_ = -1;
  bool connecting_ = false;
  std::uint32_t watched_ = 0;
  std::string in_;   // not worked off yet
  std::string out_;  // not written yet
};

inline constexpr std::size_t kPadding = 64;

// Allows as many open files as the system lets this process have. Failure if they are fewer than `wanted`.
void RaiseFileLimit(std::size_t wanted);

// A port of 127.0.0.1 that nobody listens on.
std::uint16_t FreePort();

}  // namespace allot::bench

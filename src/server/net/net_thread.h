// SPDX-License-Identifier: Apache-2.0
// A network thread: its sockets, and the connections on them.
//
// Commands that its connections give to queues are collected while it handles what is ready, and brought together:
// where nobody is at it, this thread runs them. What comes back is delivered together, and every connection that has
// something to say then writes once.
//
// Threading: Run(), Stop() from any thread; everything else on the thread itself.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "server/net/ready_sockets.h"
#include "server/ops/exception_log.h"
#include "server/queue/outbox.h"
#include "server/queue/queue_runtime.h"

namespace allot {

namespace asio = boost::asio;

using QueuePtr = std::shared_ptr<QueueRuntime>;

class NetThread;

// Owned by its thread while it is open; commands and answers under way may keep it, closed, for a little longer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(NetThread& net) : net_(net) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  NetThread& net() const { return net_; }

  // Looks whether it has been slow or silent for too long. About twice a second.
  virtual void Sweep(Instant now) = 0;
  // Writes what has been collected.
  virtual void Flush() = 0;
  // Ends it at once.
  virtual void Abort() = 0;
  // Ends it if nobody waits for anything on it.
  virtual void CloseIfIdle() {}

  // Runs `f` on its behalf: an exception ends this connection, and nothing else. Every handler of its own, and every
  // call from its thread, goes through here.
  template <typename F>
  void Guard(std::string_view during, F&& f) noexcept;

 private:
  friend class NetThread;
  NetThread& net_;
  bool dirty_ = false;
};

class NetThread final : public Executor {
 public:
  // `exceptions` outlives it.
  explicit NetThread(ExceptionLog& exceptions);
  ~NetThread() override;

  // Others may visit it. Not with TLS, whose streams run handlers of their own. Before Start().
  void AllowVisits() { visits_ = true; }
  void Start();
  // Ends the loop and waits for it; connections are aborted.
  void Stop();
  // Drops what was posted to it, or by it to a queue, since. What goes may post to other threads: false once there was
  // nothing. REQUIRES: it is stopped.
  bool DropPosted();

  asio::io_context& io() { return io_; }
  ReadySockets& sockets() { return sockets_; }
  // For what one connection reads or writes at a time: nobody else's while that goes on.
  static constexpr std::size_t kReadBytes = 64 * 1024;
  std::span<char> read_buffer() { return read_buffer_; }
  std::string& words() { return words_; }
  ExceptionLog& exceptions() { return exceptions_; }
  using Executor::Post;
  void Post(std::vector<Closure>& closures) override;

  // To the thread of the queue. It goes out when this one has handled what is ready.
  void Post(const QueuePtr& queue, Command command);
  // Flush() is called once the deliveries under way are through.
  void MarkDirty(Connection& connection);
  // Keeps it, and sweeps it, until Disown().
  void Adopt(std::shared_ptr<Connection> connection);
  void Disown(Connection& connection) { connections_.erase(&connection); }
  void CloseIdle();
  // Runs `f` here when others have had their turn.
  template <typename F>
  void Later(F&& f) {
    asio::post(io_, [this, f = std::forward<F>(f)]() mutable {
      const Turn turn(*this);
      f();
    });
  }
  // As of the last wake-up of the thread: for timeouts.
  Instant now() const { return now_; }

 private:
  struct Pending {
    QueuePtr queue;
    std::vector<Command> commands;
  };
  class Turn {
   public:
    explicit Turn(NetThread& net);

   private:
    const std::lock_guard<std::mutex> lock_;
  };
  void Loop();
  // Those that this thread has something for, and has not woken.
  void VisitOthers();
  void BeVisited();
  // Brings the commands, and delivers what comes of them at once.
  void HandOver();
  void FlushCommands();
  // All that was posted. False: nothing.
  bool Deliver();
  void FlushDirty();
  void ArmSweep();
  std::vector<std::shared_ptr<Connection>> All() const;

  ExceptionLog& exceptions_;
  std::mutex turn_;
  std::atomic<bool> visits_{false};
  std::vector<NetThread*> to_visit_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer sweep_;
  ReadySockets sockets_;
  std::vector<char> read_buffer_;
  std::string words_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::vector<Pending> pending_;
  std::vector<Pending> bringing_;  // of those, the ones that are being brought
  std::mutex inbox_mutex_;
  std::vector<Closure> inbox_;  // guarded by inbox_mutex_
  bool woken_ = false;          // Deliver() will run; guarded by inbox_mutex_
  std::vector<Closure> delivering_;
  std::vector<std::shared_ptr<Connection>> dirty_;
  Instant now_{};
  std::thread thread_;
};

template <typename F>
void Connection::Guard(std::string_view during, F&& f) noexcept {
  const std::shared_ptr<Connection> self = weak_from_this().lock();
  if (net_.exceptions().Survives(during, std::forward<F>(f))) return;
  if (net_.exceptions().Survives("the end of a connection", [this] { Abort(); })) return;
  net_.Disown(*this);
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "server/net/net_thread.h"

#include <chrono>
#include <iterator>

#include "base/check.h"
#include "server/ops/clock.h"

namespace allot {
namespace {

constexpr auto kSweepEvery = std::chrono::milliseconds(500);
// Handlers that run before the commands that they gave are handed over: enough for a batch, few enough for latency.
constexpr int kHandlersPerTurn = 64;
// Commands that follow from what the ones before led to, before others have their turn.
constexpr int kHandOversInARow = 4;
constexpr std::size_t kKeptWords = 1024 * 1024;  // more is given back

// The network thread that is bringing commands here: it visits those that it has something for.
constinit thread_local NetThread* t_bringing = nullptr;

}  // namespace

NetThread::Turn::Turn(NetThread& net) : lock_(net.turn_) { net.now_ = ReadMonotonic(); }

NetThread::NetThread(ExceptionLog& exceptions)
    : exceptions_(exceptions),
      io_(1),
      guard_(io_.get_executor()),
      sweep_(io_),
      sockets_(io_, turn_, [this] { now_ = ReadMonotonic(); }),
      read_buffer_(kReadBytes) {
  sockets_.Begin();
}

NetThread::~NetThread() {
  Stop();
  while (DropPosted()) {
  }
}

bool NetThread::DropPosted() {
  CHECK(!thread_.joinable());
  const std::vector<Pending> commands = std::exchange(pending_, {});
  const std::vector<Pending> brought = std::exchange(bringing_, {});
  std::vector<Closure> closures;
  {
    const std::lock_guard lock(inbox_mutex_);
    closures.swap(inbox_);
  }
  return !commands.empty() || !brought.empty() || !closures.empty();
}

void NetThread::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void NetThread::Stop() {
  if (!thread_.joinable()) return;
  Later([this] {
    visits_ = false;
    sweep_.cancel();
    for (const auto& connection : All()) {
      exceptions_.Survives("the end of a connection", [&] { connection->Abort(); });
    }
    guard_.reset();
    // Handlers of aborted operations run first; what waits for an engine that is gone must not hold the loop.
    asio::post(io_, [this] { asio::post(io_, [this] { io_.stop(); }); });
  });
  thread_.join();
}

void NetThread::Loop() {
  {
    const Turn turn(*this);
    ArmSweep();
  }
  // Connections guard their own handlers. What is thrown inside a library's handler leaves its connection without an
  // operation: its deadlines end it.
  std::size_t ran = 1;
  while (ran != 0) {
    exceptions_.Survives("a handler", [this, &ran] { ran = io_.run_one(); });
    exceptions_.Survives("a handler", [this] {
      for (int n = 1; n < kHandlersPerTurn && io_.poll_one() != 0; ++n) {
      }
    });
    const Turn turn(*this);
    FlushDirty();
    HandOver();
  }
}

void NetThread::Post(std::vector<Closure>& closures) {
  bool wake = false;
  {
    std::lock_guard lock(inbox_mutex_);
    if (inbox_.empty()) {
      inbox_.swap(closures);
    } else {
      inbox_.insert(inbox_.end(), std::make_move_iterator(closures.begin()), std::make_move_iterator(closures.end()));
    }
    wake = !std::exchange(woken_, true);
  }
  closures.clear();
  if (!wake) return;
  if (t_bringing != nullptr && t_bringing != this && visits_) {
    t_bringing->to_visit_.push_back(this);
  } else {
    Later([this] { Deliver(); });
  }
}

void NetThread::VisitOthers() {
  // What is posted during a visit goes the usual way.
  NetThread* const bringing = std::exchange(t_bringing, nullptr);
  for (NetThread* const other : to_visit_) other->BeVisited();
  to_visit_.clear();
  t_bringing = bringing;
}

void NetThread::BeVisited() {
  bool more = true;
  {
    const std::unique_lock lock(turn_, std::try_to_lock);
    if (!lock || !visits_) {
      Later([this] { Deliver(); });
      return;
    }
    now_ = ReadMonotonic();
    Deliver();
    more = !pending_.empty();
  }
  // What came of it is brought by the thread itself.
  if (more) Later([] {});
}

bool NetThread::Deliver() {
  {
    std::lock_guard lock(inbox_mutex_);
    woken_ = false;
    inbox_.swap(delivering_);
  }
  if (delivering_.empty()) return false;
  for (Closure& closure : delivering_) {
    // What it holds, such as the duty to answer, goes with it.
    exceptions_.Survives("an answer", [&closure] { closure(); });
    closure = {};
  }
  delivering_.clear();
  FlushDirty();
  return true;
}

void NetThread::HandOver() {
  for (int n = 0; n < kHandOversInARow && !pending_.empty(); ++n) {
    {
      // Of what comes of it here this thread need not be woken.
      std::lock_guard lock(inbox_mutex_);
      woken_ = true;
    }
    FlushCommands();
    Deliver();
  }
  if (!pending_.empty()) Later([] {});
}

void NetThread::Post(const QueuePtr& queue, Command command) {
  for (Pending& pending : pending_) {
    if (pending.queue == queue) {
      pending.commands.push_back(std::move(command));
      return;
    }
  }
  Pending pending;
  pending.queue = queue;
  pending.commands.push_back(std::move(command));
  pending_.push_back(std::move(pending));
}

void NetThread::FlushCommands() {
  if (pending_.empty()) return;
  // What runs here, or is dropped here, may give further commands.
  bringing_.swap(pending_);
  t_bringing = this;
  for (Pending& pending : bringing_) {
    if (pending.queue->Bring(pending.commands, [this] { VisitOthers(); })) continue;
    pending.commands.clear();  // the queue is gone; those who wait notice
  }
  t_bringing = nullptr;
  VisitOthers();
  bringing_.clear();
}

void NetThread::MarkDirty(Connection& connection) {
  if (connection.dirty_) return;
  connection.dirty_ = true;
  dirty_.push_back(connection.shared_from_this());
}

void NetThread::FlushDirty() {
  // Flushing may dirty others, never without end: each writes once and then waits for the kernel.
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    const std::shared_ptr<Connection> connection = std::move(dirty_[i]);
    connection->dirty_ = false;
    connection->Guard("writing", [&connection] { connection->Flush(); });
  }
  dirty_.clear();
  if (words_.capacity() > kKeptWords) std::string().swap(words_);
}

void NetThread::Adopt(std::shared_ptr<Connection> connection) {
  Connection* const key = connection.get();
  connections_.emplace(key, std::move(connection));
}

std::vector<std::shared_ptr<Connection>> NetThread::All() const {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  return all;
}

void NetThread::CloseIdle() {
  for (const auto& connection : All()) {
    connection->Guard("closing", [&connection] { connection->CloseIfIdle(); });
  }
}

void NetThread::ArmSweep() {
  sweep_.expires_after(kSweepEvery);
  sweep_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    const Turn turn(*this);
    for (const auto& connection : All()) {
      connection->Guard("looking at deadlines", [this, &connection] { connection->Sweep(now_); });
    }
    FlushDirty();
    ArmSweep();
  });
}

}  // namespace allot

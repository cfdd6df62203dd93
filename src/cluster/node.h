// SPDX-License-Identifier: Apache-2.0
// This server as one of several: it beats, sees what the others do, and has queues taken and handed over.
//
// What is done with a queue is up to callbacks, which run on threads of the node's own and may take long; beats go on
// meanwhile.
//
// Threading: all methods may be called from any thread, except as said.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cluster/lease.h"
#include "cluster/membership.h"
#include "cluster/node_table.h"

namespace allot::cluster {

// All nodes and queues, as this node saw them last.
struct Picture {
  Instant begun{};  // of the lease's clock: what had happened by then is in it
  std::string incarnation;
  std::vector<NodeRow> nodes;
  std::vector<QueueRow> queues;  // by name

  // Null if there is none.
  const QueueRow* Find(std::string_view queue) const;
  // Null if nobody who lives has it.
  const NodeRow* OwnerOf(const QueueRow& queue) const;
};
using PicturePtr = std::shared_ptr<const Picture>;

class Node {
 public:
  struct Options {
    std::shared_ptr<PostgresDatabase> database;
    Introduction introduction;
    Timing timing;
    // Takes the queue where its epoch is still the same, as a writer whose incarnation begins with `node` and a dot.
    std::function<Result<void>(const QueueRow& queue, const std::string& node)> take;
    // Ends the queue here, with all that was promised, and lets it go.
    std::function<void(const std::string& queue)> hand_over;
    // Names of those that are here.
    std::function<std::vector<std::string>()> held;
    // All queues that are here, or that are being taken, are lost from now on. Returns soon.
    std::function<void()> lose_all;
    std::function<void(const std::string& what)> say;
  };
  explicit Node(Options options);
  // As Leave().
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Enters the cluster, and begins. Fails as NodeTable::Enter() does.
  Result<void> Start();
  // Takes nothing more; others are to take what it lets go.
  void BeginStop();
  // Ends its threads, and says good-bye. Whatever it had must have ended.
  void Leave();

  const Lease& lease() const { return lease_; }
  const std::string& name() const { return options_.introduction.name; }
  PicturePtr picture() const;
  NodeTable& table() { return table_; }
  // Runs it on a thread of the node's own. It may take long.
  void Post(std::function<void()> job);
  // Looks again soon: something is about to change.
  void Hurry();

  struct Stats {
    std::uint64_t taken = 0;  // queues
    std::uint64_t handed_over = 0;
    std::uint64_t deaths = 0;  // of this node, as others saw it
    std::uint64_t missed = 0;  // rounds
    Duration beat_age{0};      // since the last beat that was taken was sent
    Duration round_time{0};    // of the last round
  };
  Stats stats() const;

 private:
  using Job = std::function<void()>;
  void Loop();
  // False: this incarnation is dead.
  bool Round();
  void Act(const Membership::Decisions& decisions);
  void Rise();
  void Work();
  // What is here, or about to be.
  std::set<std::string, std::less<>> Held() const;
  void Take(const QueueRow& queue, const std::string& incarnation);
  void HandOver(const std::string& queue);
  bool Begin(const std::string& queue);
  void Done(const std::string& queue);

  const Options options_;
  NodeTable table_;
  Lease lease_;
  std::unique_ptr<Membership> membership_;     // of the beating thread
  std::unique_ptr<NodeTable::Rounds> rounds_;  // likewise
  std::atomic<std::int64_t> last_beat_{0}, round_time_{0};
  std::atomic<std::uint64_t> taken_{0}, handed_over_{0}, deaths_{0}, missed_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PicturePtr picture_;                                       // guarded by mutex_
  std::set<std::string, std::less<>> busy_;                  // queues that a job is for; guarded by mutex_
  std::set<std::string, std::less<>> dying_;                 // nodes that a job is for; guarded by mutex_
  std::map<std::string, Instant, std::less<>> not_before_;   // of what could not be taken; guarded by mutex_
  std::deque<Job> jobs_;                                     // guarded by mutex_
  bool hurry_ = false, stopping_ = false, leaving_ = false;  // guarded by mutex_
  bool said_away_ = false;                                   // of the beating thread
  std::vector<std::thread> workers_;
  std::thread thread_;
};

}  // namespace allot::cluster

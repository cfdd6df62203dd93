// SPDX-License-Identifier: Apache-2.0
// What a node decides from what it sees in the database: who is dead, what it takes, what it hands over, and whether it
// may answer itself. A state machine without clock or I/O: time is passed in, of this node's own monotonic clock.
//
//   - A node may answer until `may_answer` after it sent its last beat that was taken.
//   - A peer whose beat stays the same for `dead_after` is dead. It is declared so where the beat is still the same, so
//     that one whose beat comes first lives on. The same beat was taken before it was seen first: a node that is
//     declared dead has not answered for at least dead_after - may_answer, whatever the two clocks say.
//   - A round that is missed proves nothing about others: after a gap of `missed` all are observed anew.
//   - What has no owner, or a dead one, goes to the node that rendezvous hashing names among those that live. One that
//     lives is never robbed: it hands over by itself, at once where it drains or the queue is pinned elsewhere, and to
//     where a queue belongs once nobody has come or gone for `settle`, one queue at a time.
//
// Threading: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace allot::cluster {

struct Timing {
  Duration beat_every = milliseconds(400);
  Duration may_answer = milliseconds(2000);
  Duration dead_after = milliseconds(2500);
  Duration missed = milliseconds(1200);
  Duration settle = milliseconds(30'000);
  Duration between_moves = milliseconds(5000);
};

// A row of `nodes`.
struct NodeRow {
  std::string name;
  std::string incarnation;  // of this start; no two are alike
  std::int64_t beat = 0;
  bool dead = false;
  bool draining = false;
  std::string address;  // by which others reach it
  std::string version;
  WallTime started{};
};

// A queue, and its row in `heads`.
struct QueueRow {
  std::string name;
  std::int64_t number = 0;
  std::int64_t epoch = 0;
  std::string owner;        // for people; empty: none
  std::string incarnation;  // of who writes: of a node, its own, a dot, and more
  bool outsider = false;    // that is no node, and is alive
  std::string pinned;       // to the node of that name
  WallTime since{};         // when its owner took it
};

// Of which node a writer is; empty: of none.
std::string_view NodeOf(std::string_view writer);

// Where `queue` belongs, among nodes by name; empty if there are none.
std::string_view HomeOf(std::string_view queue, const std::vector<std::string>& nodes);

class Membership {
 public:
  Membership(std::string name, std::string incarnation, const Timing& timing)
      : name_(std::move(name)), incarnation_(std::move(incarnation)), timing_(timing) {}

  // The beat that was sent then is durable.
  void Beaten(Instant sent);
  Instant MayAnswerUntil() const { return may_answer_until_; }
  bool MayAnswer(Instant now) const { return now < may_answer_until_; }

  // What the database had, read in the same round.
  void Observe(Instant now, std::vector<NodeRow> nodes, std::vector<QueueRow> queues);

  struct Suspect {
    std::string name, incarnation;
    std::int64_t beat = 0;
  };
  struct Decisions {
    std::vector<Suspect> dead;       // to be declared so
    std::vector<QueueRow> takes;     // as it was seen: taken where its epoch is still the same
    std::vector<std::string> moves;  // to be handed over, by name
  };
  // `held`: queues that this node has, or is about to take or hand over. Nothing, while it may not answer.
  Decisions Decide(Instant now, const std::set<std::string, std::less<>>& held);

  const std::vector<NodeRow>& nodes() const { return nodes_; }
  const std::vector<QueueRow>& queues() const { return queues_; }
  const std::string& incarnation() const { return incarnation_; }

 private:
  struct Seen {
    std::int64_t beat = 0;
    Instant since{};
  };
  bool IsFree(const QueueRow& queue) const;
  // The node on which it is to be.
  std::string_view PlaceOf(const QueueRow& queue) const;

  const std::string name_;
  const std::string incarnation_;
  const Timing timing_;
  Instant may_answer_until_{};
  Instant observed_{};
  std::map<std::string, Seen> seen_;  // by incarnation
  std::vector<NodeRow> nodes_;
  std::vector<QueueRow> queues_;
  std::vector<std::string> homes_;  // names of nodes that take queues
  std::set<std::string> alive_;     // incarnations
  Instant settled_{};               // since when nobody came or went
  Instant moved_{};
  bool draining_ = false;
};

}  // namespace allot::cluster

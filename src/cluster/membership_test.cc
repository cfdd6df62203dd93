// SPDX-License-Identifier: Apache-2.0
#include "cluster/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace allot::cluster {
namespace {

using namespace std::chrono_literals;
using Held = std::set<std::string, std::less<>>;

Instant At(std::int64_t ms) { return Instant(milliseconds(ms)); }

NodeRow LiveNode(const std::string& name, std::int64_t beat = 0) {
  NodeRow node;
  node.name = name;
  node.incarnation = name + "-1";
  node.beat = beat;
  return node;
}

QueueRow FreeQueue(const std::string& name) {
  QueueRow queue;
  queue.name = name;
  return queue;
}

QueueRow QueueOf(const std::string& name, const std::string& node) {
  QueueRow queue = FreeQueue(name);
  queue.owner = node;
  queue.incarnation = node + "-1.x";
  return queue;
}

std::vector<std::string> Names(const std::vector<QueueRow>& queues) {
  std::vector<std::string> names;
  for (const QueueRow& queue : queues) names.push_back(queue.name);
  return names;
}

TEST(HomeOf, IsTheSameForAllAndMovesLittle) {
  const std::vector<std::string> three = {"a", "b", "c"};
  std::map<std::string, int> count;
  int moved = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string queue = "queue-" + std::to_string(i);
    const std::string home(HomeOf(queue, three));
    ++count[home];
    EXPECT_EQ(home, HomeOf(queue, {"c", "a", "b"}));
    const std::string without_c(HomeOf(queue, {"a", "b"}));
    if (without_c != home) {
      ++moved;
      EXPECT_EQ(home, "c");
    }
  }
  for (const std::string& node : three) EXPECT_NEAR(count[node], 1000, 120) << node;
  EXPECT_EQ(moved, count["c"]);
  EXPECT_EQ(HomeOf("q", {}), "");
}

TEST(Membership, AnswersUntilTwoSecondsAfterItSentItsLastBeat) {
  Membership node("a", "a-1", Timing());
  EXPECT_FALSE(node.MayAnswer(At(0)));
  node.Beaten(At(1000));
  EXPECT_TRUE(node.MayAnswer(At(2999)));
  EXPECT_FALSE(node.MayAnswer(At(3000)));
  node.Beaten(At(500));  // an earlier one says nothing new
  EXPECT_TRUE(node.MayAnswer(At(2999)));
}

TEST(Membership, DeclaresDeadWhoShowsTheSameBeatForLongAndNoSooner) {
  Membership node("a", "a-1", Timing());
  for (int ms = 0; ms <= 2400; ms += 400) {
    node.Beaten(At(ms));
    node.Observe(At(ms), {LiveNode("a"), LiveNode("b", 7)}, {});
    EXPECT_TRUE(node.Decide(At(ms), {}).dead.empty()) << ms;
  }
  node.Beaten(At(2500));
  node.Observe(At(2500), {LiveNode("a"), LiveNode("b", 7)}, {});
  const Membership::Decisions decisions = node.Decide(At(2500), {});
  ASSERT_EQ(decisions.dead.size(), 1u);
  EXPECT_EQ(decisions.dead[0].incarnation, "b-1");
  EXPECT_EQ(decisions.dead[0].beat, 7);
  node.Observe(At(2600), {LiveNode("a"), LiveNode("b", 8)}, {});
  EXPECT_TRUE(node.Decide(At(2600), {}).dead.empty());
}

TEST(Membership, ObservesAnewAfterItMissedRoundsItself) {
  Membership node("a", "a-1", Timing());
  node.Beaten(At(0));
  node.Observe(At(0), {LiveNode("a"), LiveNode("b", 7)}, {});
  // The database was away for all of them.
  node.Beaten(At(5000));
  node.Observe(At(5000), {LiveNode("a"), LiveNode("b", 7)}, {});
  EXPECT_TRUE(node.Decide(At(5000), {}).dead.empty());
}

TEST(Membership, TakesWhatNobodyHasWhereItBelongs) {
  struct Row {
    const char* what;
    QueueRow queue;
    bool takes;
  };
  const std::string home(HomeOf("q", {"a", "b"}));
  const std::string other = home == "a" ? "b" : "a";
  QueueRow outsider = FreeQueue("q");
  outsider.incarnation = "abc";
  outsider.outsider = true;
  QueueRow gone = outsider;
  gone.outsider = false;
  QueueRow pinned = FreeQueue("q");
  pinned.pinned = other;
  QueueRow lost = QueueOf("q", "c");
  const Row rows[] = {{"free", FreeQueue("q"), true},           {"of one that lives", QueueOf("q", other), false},
                      {"of one that is not there", lost, true}, {"of a server that is no node", outsider, false},
                      {"of one that is gone", gone, true},      {"pinned elsewhere", pinned, false}};
  for (const Row& row : rows) {
    Membership node(home, home + "-1", Timing());
    node.Beaten(At(0));
    node.Observe(At(0), {LiveNode("a"), LiveNode("b")}, {row.queue});
    EXPECT_EQ(node.Decide(At(0), {}).takes.size(), row.takes ? 1u : 0u) << row.what;
    EXPECT_TRUE(node.Decide(At(0), {"q"}).takes.empty()) << row.what;
    EXPECT_TRUE(node.Decide(At(2000), {}).takes.empty()) << row.what << ", too late";
  }
}

TEST(Membership, TakesAgainWhatIsItsOwnAndNotThere) {
  const std::string other = HomeOf("q", {"a", "b"}) == "a" ? "b" : "a";
  Membership node(other, other + "-1", Timing());
  node.Beaten(At(0));
  node.Observe(At(0), {LiveNode("a"), LiveNode("b")}, {QueueOf("q", other)});
  EXPECT_EQ(Names(node.Decide(At(0), {}).takes), std::vector<std::string>{"q"});
}

TEST(Membership, HandsOverAtOnceWhereItDrainsOrTheQueueIsPinned) {
  NodeRow draining = LiveNode("a");
  draining.draining = true;
  Membership node("a", "a-1", Timing());
  node.Beaten(At(0));
  node.Observe(At(0), {draining, LiveNode("b")}, {QueueOf("q", "a"), QueueOf("r", "a")});
  EXPECT_EQ(node.Decide(At(0), {"q", "r"}).moves, (std::vector<std::string>{"q", "r"}));
  // Where all drain, none goes.
  NodeRow other = LiveNode("b");
  other.draining = true;
  const std::string at_home(HomeOf("q", {"a", "b"}));
  node.Observe(At(1), {draining, other}, {QueueOf("q", "a")});
  EXPECT_EQ(node.Decide(At(1), {"q"}).moves.size(), at_home == "a" ? 0u : 1u);
  QueueRow pinned = QueueOf("q", "a");
  pinned.pinned = "b";
  node.Observe(At(2), {LiveNode("a"), LiveNode("b")}, {pinned});
  EXPECT_EQ(node.Decide(At(2), {"q"}).moves, std::vector<std::string>{"q"});
}

TEST(Membership, MovesQueuesHomeOneByOneOnceNobodyComesOrGoes) {
  // All that belong to b are with a.
  std::vector<QueueRow> queues;
  Held held;
  std::size_t away = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "q" + std::to_string(i);
    queues.push_back(QueueOf(name, "a"));
    held.insert(name);
    away += HomeOf(name, {"a", "b"}) == "b" ? 1u : 0u;
  }
  ASSERT_GT(away, 2u);
  Membership node("a", "a-1", Timing());
  std::vector<int> moved;
  for (int ms = 0; ms <= 45'000; ms += 400) {
    node.Beaten(At(ms));
    node.Observe(At(ms), {LiveNode("a"), LiveNode("b", ms)}, queues);
    const std::vector<std::string> moves = node.Decide(At(ms), held).moves;
    ASSERT_LE(moves.size(), 1u);
    if (moves.empty()) continue;
    moved.push_back(ms);
    held.erase(moves[0]);
    for (QueueRow& queue : queues) {
      if (queue.name == moves[0]) queue = QueueOf(queue.name, "b");
    }
  }
  ASSERT_FALSE(moved.empty());
  EXPECT_GE(moved[0], 30'000);
  for (std::size_t i = 1; i < moved.size(); ++i) EXPECT_GE(moved[i] - moved[i - 1], 5000);
}

// --- Several nodes and a database, in virtual time.
//
// What is naive about it: it knows everything, at every moment. At no moment may two nodes answer for one queue, nor
// one while another has taken it in the database.

class World {
 public:
  World(std::uint64_t seed, int nodes, int queues, bool faults) : random_(seed), faults_(faults) {
    for (int i = 0; i < queues; ++i) {
      const std::string name = "q" + std::to_string(i);
      queues_[name] = FreeQueue(name);
    }
    for (int i = 0; i < nodes; ++i) {
      auto& node = nodes_.emplace_back(std::make_unique<SimNode>());
      node->name = std::string(1, static_cast<char>('a' + i));
      node->rate = 0.95 + 0.1 * Chance();
      node->offset = static_cast<std::int64_t>(Chance() * 1e12);
      Enter(*node);
      Later(*node, Upto(400'000), [this, n = node.get()] { Round(*n); });
    }
  }

  void Run(std::int64_t faulty, std::int64_t quiet) {
    faulty_ = faulty;
    while (!events_.empty() && now_ < faulty + quiet) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      // Who is paused does it when it goes on.
      if (event.node != nullptr && event.node->paused_until > now_) {
        events_.push({event.node->paused_until, ++order_, event.node, event.run});
        continue;
      }
      if (faults_ && now_ < faulty) BreakSomething();
      event.run();
      Check();
    }
  }

  // After quiet times.
  void CheckAllServed() {
    for (const auto& [name, queue] : queues_) {
      int served = 0;
      for (const auto& node : nodes_) served += MayAnswer(*node, name) ? 1 : 0;
      EXPECT_EQ(served, 1) << "nobody serves " << name << ": " << queue.incarnation;
    }
  }
  int deaths() const { return deaths_; }
  int takes() const { return takes_; }

 private:
  struct SimNode {
    std::string name;
    double rate = 1;
    std::int64_t offset = 0;
    int starts = 0;
    std::unique_ptr<Membership> membership;
    Held held, busy;
    std::int64_t paused_until = 0, cut_until = 0;
    std::uint64_t round = 0;
  };
  struct Event {
    std::int64_t at;
    std::uint64_t order;
    SimNode* node;
    std::function<void()> run;
    bool operator<(const Event& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };

  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  std::int64_t Upto(std::int64_t most) { return static_cast<std::int64_t>(Chance() * static_cast<double>(most)); }
  void Later(SimNode& node, std::int64_t after, std::function<void()> run) {
    events_.push({now_ + after, ++order_, &node, std::move(run)});
  }
  void InDatabase(std::int64_t after, std::function<void()> run) {
    events_.push({now_ + after, ++order_, nullptr, std::move(run)});
  }
  Instant Clock(const SimNode& node) const {
    return Instant(Duration(node.offset + static_cast<std::int64_t>(static_cast<double>(now_) * node.rate)));
  }
  bool Cut(const SimNode& node) const { return now_ < node.cut_until || now_ < down_until_; }
  bool MayAnswer(const SimNode& node, const std::string& queue) const {
    return node.held.count(queue) != 0 && node.membership->MayAnswer(Clock(node));
  }

  void BreakSomething() {
    if (Chance() > 0.004) return;
    SimNode& node = *nodes_[static_cast<std::size_t>(Upto(static_cast<std::int64_t>(nodes_.size())))];
    const double what = Chance();
    if (what < 0.4) {
      node.paused_until = now_ + 100'000 + Upto(9'000'000);
    } else if (what < 0.8) {
      node.cut_until = now_ + 100'000 + Upto(9'000'000);
    } else if (what < 0.9) {
      down_until_ = now_ + 100'000 + Upto(5'000'000);
    } else {
      // Killed, and started again.
      node.held.clear();
      node.busy.clear();
      ++node.round;
      node.membership = std::make_unique<Membership>(node.name, "none", Timing());
      Later(node, 500'000 + Upto(4'000'000), [this, n = &node, round = node.round] {
        if (n->round == round) Rise(*n);
      });
    }
  }

  void Check() {
    for (const auto& [name, queue] : queues_) {
      int answering = 0;
      for (const auto& node : nodes_) {
        if (!MayAnswer(*node, name)) continue;
        ++answering;
        const std::string_view owner = NodeOf(queue.incarnation);
        ASSERT_EQ(owner, node->membership->incarnation()) << node->name << " answers for " << name << " at " << now_;
      }
      ASSERT_LE(answering, 1) << name << " at " << now_;
    }
  }

  void Enter(SimNode& node) {
    const std::string incarnation = node.name + "-" + std::to_string(++node.starts);
    node.membership = std::make_unique<Membership>(node.name, incarnation, Timing());
    NodeRow row;
    row.name = node.name;
    row.incarnation = incarnation;
    rows_[node.name] = row;
  }

  // The one before has to be dead.
  void Rise(SimNode& node) {
    node.held.clear();
    node.busy.clear();
    const std::uint64_t round = ++node.round;
    node.membership = std::make_unique<Membership>(node.name, "none", Timing());
    if (!rows_[node.name].dead || Cut(node)) {
      const std::int64_t beat = rows_[node.name].beat;
      const std::string incarnation = rows_[node.name].incarnation;
      Later(node, 2'700'000, [this, n = &node, round, beat, incarnation] {
        if (n->round != round) return;
        NodeRow& row = rows_[n->name];
        if (!Cut(*n) && row.incarnation == incarnation && row.beat == beat) row.dead = true;
        Rise(*n);
      });
      return;
    }
    Enter(node);
    Round(node);
  }

  void Round(SimNode& node) {
    const std::uint64_t round = ++node.round;
    const Instant sent = Clock(node);
    Held before = node.held;
    before.insert(node.busy.begin(), node.busy.end());
    const std::string incarnation = node.membership->incarnation();
    const auto next = [this, n = &node, round] {
      if (n->round == round) Round(*n);
    };
    Later(node, 1'500'000, next);
    if (Cut(node)) return;
    InDatabase(Upto(60'000), [=, this, n = &node] {
      if (Cut(*n)) return;
      NodeRow& row = rows_[n->name];
      const bool taken = row.incarnation == incarnation && !row.dead;
      if (taken) ++row.beat;
      std::vector<NodeRow> nodes;
      for (const auto& [name, other] : rows_) nodes.push_back(other);
      std::vector<QueueRow> queues;
      for (const auto& [name, queue] : queues_) queues.push_back(queue);
      const std::int64_t back = Upto(60'000);
      if (faults_ && now_ < faulty_ && Chance() < 0.02) return;  // the answer is lost
      Later(*n, back, [=, this] {
        if (n->round != round || Cut(*n)) return;
        if (!taken) return Rise(*n);
        n->membership->Beaten(sent);
        n->membership->Observe(Clock(*n), nodes, queues);
        Held held = before;
        held.insert(n->held.begin(), n->held.end());
        held.insert(n->busy.begin(), n->busy.end());
        Act(*n, n->membership->Decide(Clock(*n), held));
        Later(*n, 400'000, next);
      });
    });
  }

  void Act(SimNode& node, const Membership::Decisions& decisions) {
    const std::string incarnation = node.membership->incarnation();
    for (const Membership::Suspect& suspect : decisions.dead) {
      InDatabase(Upto(100'000), [this, suspect] {
        NodeRow& row = rows_[suspect.name];
        if (row.incarnation != suspect.incarnation || row.beat != suspect.beat || row.dead) return;
        row.dead = true;
        ++deaths_;
      });
    }
    for (const QueueRow& seen : decisions.takes) {
      node.busy.insert(seen.name);
      InDatabase(Upto(200'000), [this, n = &node, seen, incarnation] {
        QueueRow& queue = queues_[seen.name];
        const NodeRow& row = rows_[n->name];
        const bool taken = queue.epoch == seen.epoch && row.incarnation == incarnation && !row.dead;
        if (taken) {
          ++takes_;
          ++queue.epoch;
          queue.incarnation = incarnation + ".x";
        }
        Later(*n, Upto(800'000), [n, name = seen.name, taken, incarnation] {
          if (n->membership->incarnation() != incarnation) return;
          n->busy.erase(name);
          if (taken) n->held.insert(name);
        });
      });
    }
    for (const std::string& name : decisions.moves) {
      node.busy.insert(name);
      node.held.erase(name);
      InDatabase(Upto(200'000), [this, n = &node, name, incarnation] {
        QueueRow& queue = queues_[name];
        if (NodeOf(queue.incarnation) == incarnation) {
          ++queue.epoch;
          queue.incarnation.clear();
        }
        Later(*n, 1000, [n, name] { n->busy.erase(name); });
      });
    }
  }

  std::mt19937_64 random_;
  const bool faults_;
  std::int64_t now_ = 0, faulty_ = 0;
  std::uint64_t order_ = 0;
  std::int64_t down_until_ = 0;
  std::priority_queue<Event> events_;
  std::map<std::string, NodeRow> rows_;
  std::map<std::string, QueueRow> queues_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  int deaths_ = 0, takes_ = 0;
};

constexpr std::int64_t kSecond = 1'000'000;

TEST(MembershipModel, NobodyDiesOfNothingAndEveryQueueIsServed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 3, 7, false);
    world.Run(0, 60 * kSecond);
    EXPECT_EQ(world.deaths(), 0);
    EXPECT_EQ(world.takes(), 7);
    world.CheckAllServed();
  }
}

TEST(MembershipModel, AtMostOneAnswersWhateverBreaksAndAllIsServedAfterwards) {
  int deaths = 0;
  for (std::uint64_t seed = 0; seed < 150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed, 2 + static_cast<int>(seed % 4), 5, true);
    world.Run(120 * kSecond, 90 * kSecond);  // until all are at home
    world.CheckAllServed();
    deaths += world.deaths();
  }
  EXPECT_GT(deaths, 300);  // else nothing was tried
}

}  // namespace
}  // namespace allot::cluster

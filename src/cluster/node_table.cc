// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_table.h"

#include <random>
#include <thread>
#include <utility>

namespace allot::cluster {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using postgres::Connection;
using postgres::Params;
using postgres::Rows;
using postgres::Statement;

constexpr char kName[] = "allotter nodes";
constexpr auto kLongPatience = 10s;
constexpr auto kLookAgainAfter = 100ms;

constexpr Statement kBeat{"beat",
                          "UPDATE nodes SET beat = beat + 1 WHERE incarnation = $1::text AND NOT dead RETURNING beat"};
constexpr Statement kNodes{
    "nodes",
    "SELECT name, incarnation, beat, dead, draining, address, version, (extract(epoch FROM started) * 1000)::bigint "
    "FROM nodes ORDER BY name"};
// Who is no node is alive as long as its connection is.
constexpr Statement kQueues{
    "queues",
    "SELECT q.name, q.number, h.epoch, h.owner, h.incarnation, q.pinned, (extract(epoch FROM h.since) * 1000)::bigint, "
    "h.incarnation <> '' AND position('.' IN h.incarnation) = 0 AND EXISTS (SELECT FROM pg_stat_activity WHERE datname "
    "= current_database() AND application_name = 'allotter queue ' || h.queue || ' by ' || h.incarnation) FROM queues "
    "q "
    "JOIN heads h ON h.queue = q.number WHERE q.deleted IS NULL ORDER BY q.name"};
constexpr Statement kRound[] = {kBeat, kNodes, kQueues};

std::string Text(const Rows& rows, int row, int column) { return std::string(rows.Bytes(row, column)); }

NodeRow NodeIn(const Rows& rows, int row) {
  return {.name = Text(rows, row, 0),
          .incarnation = Text(rows, row, 1),
          .beat = rows.Int(row, 2),
          .dead = rows.Int(row, 3) != 0,
          .draining = rows.Int(row, 4) != 0,
          .address = Text(rows, row, 5),
          .version = Text(rows, row, 6),
          .started = FromMillis(rows.Int(row, 7))};
}

std::string BackendOf(std::string_view incarnation) { return "allotter node " + std::string(incarnation); }

}  // namespace

std::string NewIncarnation() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::random_device random;
  std::string out;
  for (int i = 0; i < 3; ++i) {
    for (std::uint32_t v = random(), n = 0; n < 8; ++n, v >>= 4) out += kHex[v & 15];
  }
  return out;
}

Result<std::vector<NodeTable::Other>> NodeTable::List(Connection& db) const {
  Result<Rows> rows = db.Run(
      "SELECT name, incarnation, beat, dead, draining, address, version, (extract(epoch FROM started) * 1000)::bigint, "
      "secret_check FROM nodes WHERE NOT dead",
      Params(), Clock::now() + kLongPatience);
  if (!rows) return rows.error();
  std::vector<Other> others;
  for (int row = 0; row < rows->size(); ++row) others.push_back({NodeIn(*rows, row), Text(*rows, row, 8)});
  return others;
}

Result<bool> NodeTable::AwaitDeath(Connection& db, const NodeRow& node, const Timing& timing) {
  const auto until = Clock::now() + timing.dead_after;
  while (Clock::now() < until) {
    std::this_thread::sleep_for(kLookAgainAfter);
    Result<std::vector<Other>> others = List(db);
    if (!others) return others.error();
    bool gone = true;
    for (const Other& other : *others) {
      if (other.row.incarnation != node.incarnation) continue;
      if (other.row.beat != node.beat) return false;
      gone = false;
    }
    if (gone) return true;
  }
  return DeclareDead({node.name, node.incarnation, node.beat});
}

Result<std::string> NodeTable::Enter(const Introduction& introduction, const Timing& timing) {
  Result<std::unique_ptr<Connection>> connection = database_->Connect(kName);
  if (!connection) return connection.error();
  Connection& db = **connection;
  for (;;) {
    Result<std::vector<Other>> others = List(db);
    if (!others) return others.error();
    bool again = false;
    for (const Other& other : *others) {
      const bool same_name = other.row.name == introduction.name;
      if (!same_name && other.secret_check == introduction.secret_check) continue;
      Result<bool> dead = AwaitDeath(db, other.row, timing);
      if (!dead) return dead.error();
      if (!*dead && same_name) {
        return Error{Code::kStoreLocked,
                     "another node of the name " + other.row.name + " is alive, at " + other.row.address,
                     "give each node a name of its own, with --node"};
      }
      if (!*dead) {
        return Error{
            Code::kForbidden,
            "the cluster's secret is not the one that the node " + other.row.name + " has, at " + other.row.address,
            "all nodes have the same: see cluster_secret_file"};
      }
      again = true;
    }
    if (again) continue;
    const std::string incarnation = NewIncarnation();
    // Another one of the name may be faster: then all begins anew.
    Result<Rows> entered = db.Run(
        "INSERT INTO nodes (name, incarnation, address, version, secret_check) VALUES ($1::text, $2::text, $3::text, "
        "$4::text, $5::text) ON CONFLICT (name) DO UPDATE SET incarnation = EXCLUDED.incarnation, beat = 0, dead = "
        "false, draining = false, address = EXCLUDED.address, version = EXCLUDED.version, secret_check = "
        "EXCLUDED.secret_check, started = now() WHERE nodes.dead RETURNING 1",
        Params(introduction.name, incarnation, introduction.address, introduction.version, introduction.secret_check),
        Clock::now() + kLongPatience);
    if (!entered) return entered.error();
    if (!entered->empty()) return incarnation;
  }
}

Result<void> NodeTable::Leave(const std::string& incarnation) {
  Result<std::unique_ptr<Connection>> db = database_->Connect(kName);
  if (!db) return db.error();
  Result<Rows> left =
      (*db)->Run("DELETE FROM nodes WHERE incarnation = $1::text", Params(incarnation), Clock::now() + kLongPatience);
  if (!left) return left.error();
  return {};
}

Result<bool> NodeTable::DeclareDead(const Membership::Suspect& suspect) {
  Result<std::unique_ptr<Connection>> db = database_->Connect(kName);
  if (!db) return db.error();
  // One that was stopped in the middle of a round keeps its row locked.
  Result<Rows> ended = (*db)->Run(
      "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = current_database() AND "
      "application_name = $1::text",
      Params(BackendOf(suspect.incarnation)), Clock::now() + kLongPatience);
  if (!ended) return ended.error();
  Result<Rows> dead = (*db)->Run(
      "UPDATE nodes SET dead = true WHERE incarnation = $1::text AND beat = $2::bigint AND NOT dead RETURNING 1",
      Params(suspect.incarnation, suspect.beat), Clock::now() + kLongPatience);
  if (!dead) return dead.error();
  return !dead->empty();
}

Result<bool> NodeTable::SetDraining(const std::string& node, bool draining) {
  Result<std::unique_ptr<Connection>> db = database_->Connect(kName);
  if (!db) return db.error();
  Result<Rows> set =
      (*db)->Run(draining ? "UPDATE nodes SET draining = true WHERE name = $1::text AND NOT dead RETURNING 1"
                          : "UPDATE nodes SET draining = false WHERE name = $1::text AND NOT dead "
                            "RETURNING 1",
                 Params(node), Clock::now() + kLongPatience);
  if (!set) return set.error();
  return !set->empty();
}

Result<bool> NodeTable::Pin(const std::string& queue, const std::string& node) {
  Result<std::unique_ptr<Connection>> db = database_->Connect(kName);
  if (!db) return db.error();
  Result<Rows> set =
      (*db)->Run("UPDATE queues SET pinned = $2::text WHERE name = $1::text AND deleted IS NULL RETURNING 1",
                 Params(queue, node), Clock::now() + kLongPatience);
  if (!set) return set.error();
  return !set->empty();
}

NodeTable::Rounds::Rounds(std::shared_ptr<PostgresDatabase> database, std::string incarnation)
    : database_(std::move(database)), incarnation_(std::move(incarnation)) {}

Result<NodeTable::Rounds::Seen> NodeTable::Rounds::Beat(Clock::time_point deadline) {
  if (connection_ && !connection_->usable()) connection_.reset();
  if (!connection_) {
    Result<std::unique_ptr<Connection>> opened = database_->Connect(BackendOf(incarnation_), kRound);
    if (!opened) return opened.error();
    connection_ = std::move(*opened);
  }
  connection_->Send(kBeat, Params(incarnation_));
  connection_->Send(kNodes);
  connection_->Send(kQueues);
  connection_->Sync();
  const Connection::Answer answer = connection_->Await(deadline);
  if (answer != Connection::Answer::kDone) {
    connection_.reset();
    return Error{Code::kUnavailable, "the database does not answer a beat", ""};
  }
  if (connection_->failure()) {
    // As of one that takes no writes any more: another server may.
    const Error failure = *connection_->failure();
    connection_.reset();
    return failure;
  }
  const std::vector<Rows>& rows = connection_->rows();
  Seen seen;
  seen.taken = !rows[0].empty();
  for (int row = 0; row < rows[1].size(); ++row) seen.nodes.push_back(NodeIn(rows[1], row));
  for (int row = 0; row < rows[2].size(); ++row) {
    seen.queues.push_back({.name = Text(rows[2], row, 0),
                           .number = rows[2].Int(row, 1),
                           .epoch = rows[2].Int(row, 2),
                           .owner = Text(rows[2], row, 3),
                           .incarnation = Text(rows[2], row, 4),
                           .outsider = rows[2].Int(row, 7) != 0,
                           .pinned = Text(rows[2], row, 5),
                           .since = FromMillis(rows[2].Int(row, 6))});
  }
  return seen;
}

}  // namespace allot::cluster

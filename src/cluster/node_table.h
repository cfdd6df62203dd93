// SPDX-License-Identifier: Apache-2.0
// The table `nodes`, and what a node reads of `heads` and `queues`: what membership.h decides on, in the database.
//
// Threading: Rounds by one thread; the rest by any, each call on a connection of its own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership.h"
#include "store/postgres/database.h"

namespace allot::cluster {

// How a node begins.
struct Introduction {
  std::string name;
  std::string address;
  std::string version;
  std::string secret_check;  // all that live have the same
};

// A text that no other start has.
std::string NewIncarnation();

class NodeTable {
 public:
  explicit NodeTable(std::shared_ptr<PostgresDatabase> database) : database_(std::move(database)) {}

  // Enters it as a new incarnation, which this gives. One of the same name, or with another secret, has to be dead: it
  // is watched, and declared so if its beat stays the same. kStoreLocked if it is alive, kForbidden for the secret.
  Result<std::string> Enter(const Introduction& introduction, const Timing& timing);
  // It goes, and what it had is free.
  Result<void> Leave(const std::string& incarnation);
  // False where its beat is not the same any more.
  Result<bool> DeclareDead(const Membership::Suspect& suspect);

  // False if there is no such node, or queue.
  Result<bool> SetDraining(const std::string& node, bool draining);
  Result<bool> Pin(const std::string& queue, const std::string& node);

  // The rounds of one node, over one connection.
  class Rounds {
   public:
    Rounds(std::shared_ptr<PostgresDatabase> database, std::string incarnation);
    struct Seen {
      bool taken = false;  // the beat; if not, this node was declared dead
      std::vector<NodeRow> nodes;
      std::vector<QueueRow> queues;
    };
    // Beats, durably, and looks. Gives up at `deadline`, as far as it does not connect.
    Result<Seen> Beat(std::chrono::steady_clock::time_point deadline);

   private:
    const std::shared_ptr<PostgresDatabase> database_;
    const std::string incarnation_;
    std::unique_ptr<postgres::Connection> connection_;
  };

 private:
  struct Other {
    NodeRow row;
    std::string secret_check;
  };
  Result<std::vector<Other>> List(postgres::Connection& db) const;
  // True once it is dead.
  Result<bool> AwaitDeath(postgres::Connection& db, const NodeRow& node, const Timing& timing);

  const std::shared_ptr<PostgresDatabase> database_;
};

}  // namespace allot::cluster

// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/writer.h"

#include <random>
#include <thread>
#include <utility>

#include "base/check.h"
#include "store/postgres/statements.h"

namespace allot::postgres {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLookAgain = 50ms;
constexpr auto kShortWait = 10s;  // for what waits for no other
constexpr auto kRaiseWait = 5s;   // it may wait for a standby: then it is tried again, and whoever commits hears of it
constexpr int kTries = 3;
constexpr std::size_t kSuffix = 8;  // of a node's incarnation: the name of a backend has 63 letters at most

std::string NewIncarnation() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::random_device random;
  std::string out;
  for (int i = 0; i < 3; ++i) {
    for (std::uint32_t v = random(), n = 0; n < 8; ++n, v >>= 4) out += kHex[v & 15];
  }
  return out;
}

Head HeadOf(const Rows& rows) {
  return {.epoch = rows.Int(0, 0),
          .commits = rows.Int(0, 1),
          .pos = rows.Id(0, 2),
          .floor = rows.Id(0, 3),
          .next_seq = rows.Int(0, 4),
          .bytes = rows.Int(0, 5)};
}

}  // namespace

Writer::Writer(std::shared_ptr<PostgresDatabase> database, std::int64_t queue, std::string name,
               const std::string& node)
    : database_(std::move(database)),
      queue_(queue),
      name_(std::move(name)),
      incarnation_(node.empty() ? NewIncarnation() : node + "." + NewIncarnation().substr(0, kSuffix)) {}

Writer::~Writer() { Release(); }

void Writer::Release() {
  if (!std::exchange(claimed_, false) || !connection_ || in_flight_) return;
  // Others would see it by the end of the connection as well, or of the node, a little later. The epoch tells them that
  // what they have seen before is not so any more.
  connection_->Send({nullptr, "SELECT set_config('synchronous_commit', 'off', true)"});
  connection_->Send({nullptr,
                     "UPDATE heads SET owner = '', incarnation = '', epoch = epoch + 1 WHERE queue = $1::bigint AND "
                     "incarnation = $2::text"},
                    Params(queue_, incarnation_));
  connection_->Sync();
  static_cast<void>(connection_->Await(Clock::now() + 1s));
  connection_.reset();
}

std::string Writer::NameOfBackends(std::string_view incarnation) const {
  return "allotter queue " + std::to_string(queue_) + " by " + std::string(incarnation);
}

Result<void> Writer::Connect() {
  Result<std::unique_ptr<Connection>> connection = database_->Connect(NameOfBackends(incarnation_), WriteStatements());
  if (!connection) return connection.error();
  connection_ = std::move(*connection);
  return {};
}

Result<void> Writer::EndBackends(std::string_view incarnation) {
  const std::string name = NameOfBackends(incarnation);
  Result<Rows> ended = connection_->Run(
      "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE datname = current_database() AND "
      "application_name = $1::text AND pid <> pg_backend_pid()",
      Params(name), Clock::now() + kShortWait);
  if (!ended) return ended.error();
  return {};
}

Result<void> Writer::Claim() {
  const auto until = Clock::now() + database_->options().claim_patience;
  if (Result<void> done = Connect(); !done) return done;
  for (;;) {
    Result<Rows> owner = connection_->Run(
        "SELECT epoch, owner, incarnation, (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'allotter queue ' || queue || ' by ' || incarnation) + (SELECT count(*) FROM nodes "
        "WHERE NOT dead AND incarnation = split_part(heads.incarnation, '.', 1)) FROM heads WHERE queue = $1::bigint",
        Params(queue_), Clock::now() + kShortWait);
    if (!owner) return owner.error();
    if (owner->empty()) return Error{Code::kUnknownQueue, "the queue " + name_ + " was deleted", ""};
    const std::int64_t before = owner->Int(0, 0);
    if (!owner->Bytes(0, 1).empty() && owner->Int(0, 3) > 0) {
      if (!database_->options().take_over) {
        if (Clock::now() >= until) {
          return Error{Code::kStoreLocked,
                       "the queue " + name_ + " is in use by the server " + std::string(owner->Bytes(0, 1)) +
                           ", whose connection to the database is alive",
                       "stop that server first"};
        }
        std::this_thread::sleep_for(kLookAgain);
        continue;
      }
      if (Result<void> done = EndBackends(owner->Bytes(0, 2)); !done) return done;
    }
    // Waits for a standby, where there is one: an answer that cannot be relied on is an error, and claims nothing.
    Result<Rows> claimed = connection_->Run(
        "UPDATE heads SET epoch = epoch + 1, owner = $3::text, incarnation = $4::text, since = now() WHERE queue = "
        "$1::bigint AND epoch = $2::bigint RETURNING epoch, commits, pos, floor, next_seq, bytes",
        Params(queue_, before, database_->options().node.empty() ? std::string("allotter") : database_->options().node,
               incarnation_));
    if (!claimed) return claimed.error();
    if (claimed->empty()) continue;  // another one was faster
    head_ = HeadOf(*claimed);
    epoch = static_cast<std::uint64_t>(head_.epoch);
    claimed_ = true;
    return {};
  }
}

Result<void> Writer::Take(const Ticket& ticket) {
  if (Result<void> done = Connect(); !done) return done;
  if (!ticket.incarnation.empty()) {
    if (Result<void> done = EndBackends(ticket.incarnation); !done) return done;
  }
  Result<Rows> taken = connection_->Run(
      "UPDATE heads SET epoch = epoch + 1, owner = $3::text, incarnation = $4::text, since = now() WHERE queue = "
      "$1::bigint AND epoch = $2::bigint AND EXISTS (SELECT FROM nodes WHERE incarnation = $5::text AND NOT dead) "
      "RETURNING epoch, commits, pos, floor, next_seq, bytes",
      Params(queue_, ticket.epoch, database_->options().node, incarnation_, ticket.node), Clock::now() + kShortWait);
  if (!taken) return taken.error();
  if (taken->empty()) return Error{Code::kFenced, "the queue " + name_ + " went elsewhere meanwhile", ""};
  head_ = HeadOf(*taken);
  epoch = static_cast<std::uint64_t>(head_.epoch);
  claimed_ = true;
  return {};
}

Error Writer::Fenced() {
  ++fenced;
  return {Code::kFenced, "the queue " + name_ + " was taken over by another server",
          "this server ends it; the other one goes on"};
}

Result<void> Writer::RaiseEpoch() {
  connection_.reset();
  if (Result<void> done = Connect(); !done) return done;
  const auto unusable = [this](const Error& error) {
    connection_.reset();
    return error;
  };
  // What is left of the old connection would keep the row locked until the database notices that nobody is there.
  if (Result<void> done = EndBackends(incarnation_); !done) return unusable(done.error());
  Result<Rows> raised = connection_->Run(
      "UPDATE heads SET epoch = epoch + 1 WHERE queue = $1::bigint AND incarnation = $2::text RETURNING epoch, "
      "commits, "
      "pos, floor, next_seq, bytes",
      Params(queue_, incarnation_), Clock::now() + kRaiseWait);
  if (!raised) return unusable(raised.error());
  if (raised->empty()) return unusable(Fenced());
  const Head found = HeadOf(*raised);
  ++reconnects;
  const bool happened = in_flight_ && found.commits == in_flight_->next.commits;
  if (found.commits != head_.commits && !happened) {
    return unusable({Code::kStoreCorrupt,
                     "the database has lost commits of the queue " + name_ + ": it has " +
                         std::to_string(found.commits) + ", " + std::to_string(head_.commits) + " were promised",
                     "did a standby take over that was not synchronous? Restore, or start again with what is there"});
  }
  if (happened) head_ = in_flight_->next;
  head_.epoch = found.epoch;
  epoch = static_cast<std::uint64_t>(head_.epoch);
  return {};
}

Result<bool> Writer::Settle(Connection::Deadline deadline, std::vector<Rows>* rows) {
  if (connection_) {
    switch (connection_->Await(deadline)) {
      case Connection::Answer::kLate:
        return Error{Code::kUnavailable, "the database has not answered a commit yet", ""};
      case Connection::Answer::kDone: {
        const Head next = std::exchange(in_flight_, std::nullopt)->next;
        if (const std::optional<Error>& failure = connection_->failure()) {
          if (failure->code == Code::kFenced) return Fenced();
          return *failure;
        }
        head_ = next;
        if (rows != nullptr) *rows = connection_->TakeRows();
        return true;
      }
      case Connection::Answer::kLost:
        ++doubts;
        connection_.reset();
        break;
    }
  }
  const std::int64_t before = head_.commits;
  if (Result<void> done = RaiseEpoch(); !done) return done.error();
  in_flight_.reset();
  return head_.commits != before;
}

Result<void> Writer::Commit(std::uint64_t work, const Send& send, std::vector<Rows>* rows) {
  const auto deadline = work == kSmallWork ? Connection::kForever : Clock::now() + database_->options().commit_patience;
  // A commit is tried again as it was: together with others, or without, nobody could say what became of it.
  CHECK(!in_flight_ || work == kSmallWork || in_flight_->work == work || in_flight_->work == kSmallWork);
  if (in_flight_ && (in_flight_->work != work || work == kSmallWork)) {
    // Whoever wanted it has given it up.
    if (Result<bool> settled = Settle(Connection::kForever, nullptr); !settled && in_flight_) return settled.error();
  }
  for (int tries = 0; tries < kTries; ++tries) {
    if (!in_flight_) {
      if (!connection_) {
        if (Result<void> done = RaiseEpoch(); !done) return done;
      }
      Head next = head_;
      ++next.commits;
      send(*connection_, next);
      connection_->Send(kFence,
                        Params(queue_, head_.epoch, head_.commits, next.pos, next.floor, next.next_seq, next.bytes));
      connection_->Sync();
      in_flight_ = InFlight{work, next};
    }
    Result<bool> happened = Settle(deadline, rows);
    if (!happened) return happened.error();
    if (*happened) return {};
  }
  return Error{Code::kUnavailable, "the connection to the database is lost again and again", ""};
}

Result<Rows> Writer::Look(const Statement& statement, const Params& params) {
  if (in_flight_) {
    if (Result<bool> settled = Settle(Connection::kForever, nullptr); !settled && in_flight_) return settled.error();
  }
  for (int tries = 0;; ++tries) {
    if (!connection_) {
      if (Result<void> done = RaiseEpoch(); !done) return done.error();
    }
    Result<Rows> rows = connection_->Run(statement, params, Clock::now() + kShortWait);
    if (rows || connection_->usable()) return rows;
    connection_.reset();
    if (tries > 0) return rows;
  }
}

}  // namespace allot::postgres

// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_store.h"

#include <utility>

#include "store/packed/checksum.h"
#include "store/postgres/commit.h"
#include "store/postgres/loader.h"
#include "store/postgres/queues.h"
#include "store/postgres/reads.h"
#include "store/postgres/statements.h"
#include "store/postgres/tidier.h"
#include "store/postgres/transfer.h"
#include "store/postgres/writer.h"

namespace allot {
namespace postgres {
namespace {

class StoreImpl final : public Store {
 public:
  StoreImpl(std::shared_ptr<PostgresDatabase> database, std::int64_t queue, const std::string& name,
            const std::string& node = "")
      : database_(std::move(database)),
        queue_(queue),
        writer_(database_, queue, name, node),
        tidier_(*database_, writer_),
        cache_(database_->options().payload_cache_bytes) {}

  Result<void> Claim() { return writer_.Claim(); }
  Result<void> Take(const Ticket& ticket) { return writer_.Take(ticket); }

  Result<void> Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) override;
  bool CommitsAtOnce() const override { return false; }
  Position LastPosition() const override { return writer_.head().pos; }
  Result<void> Commit(std::span<const Batch> batches) override;
  Result<bool> Tidy() override { return tidier_.Step(); }
  Result<void> PutSetting(std::string_view name, std::string_view value) override;
  Result<std::optional<std::string>> GetSetting(std::string_view name) override;
  Result<std::optional<std::string>> ReadPayload(JobId set, std::int64_t index) override {
    return postgres::ReadPayload(*database_, queue_, set, index, cache_);
  }
  std::vector<PayloadRead> ReadPayloads(std::span<const PayloadKey> keys, std::size_t max_bytes) override {
    return postgres::ReadPayloads(*database_, queue_, keys, max_bytes, cache_);
  }
  Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery& query) override {
    return postgres::ReadOutcomes(*database_, queue_, query);
  }
  void Release() override { writer_.Release(); }
  Result<void> Backup(const std::string& file) override { return BackUpQueue(*database_, queue_, file); }
  Result<Usage> ReadUsage() override;

 private:
  Result<void> DropDeadSets(const Found& found, const std::function<bool(JobId set)>& live_set);
  void Count() { bytes_ = static_cast<std::uint64_t>(writer_.head().bytes); }

  const std::shared_ptr<PostgresDatabase> database_;
  const std::int64_t queue_;
  Writer writer_;
  Tidier tidier_;
  sqlite::PayloadCache cache_;
  Committed committed_;  // of the commit that is under way
  std::atomic<std::uint64_t> bytes_{0};
};

Result<void> StoreImpl::Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) {
  Result<Found> found = LoadSnapshot(*database_, queue_, loader);
  if (!found) return found.error();
  tidier_.Loaded(*found);
  if (Result<void> done = DropDeadSets(*found, live_set); !done) return done;
  Count();
  return {};
}

Result<void> StoreImpl::DropDeadSets(const Found& found, const std::function<bool(JobId set)>& live_set) {
  // Those that are removed already are asked about as well, whatever the answer: ids must go on above them.
  for (const std::uint64_t set : found.broken_off) static_cast<void>(live_set(JobId{set}));
  std::vector<std::uint64_t> dead;
  for (const std::uint64_t set : found.loose) {
    if (!live_set(JobId{set})) dead.push_back(set);
  }
  if (found.loose.empty()) return {};
  std::vector<Garbage> garbage;
  const Result<void> done = writer_.Commit(Writer::kSmallWork, [&](Connection& db, Head& next) {
    Array seqs = Array::OfInts(), jobs = Array::OfInts(), sets = Array::OfInts();
    garbage.clear();
    for (const std::uint64_t set : dead) {
      garbage.push_back({next.next_seq++, 0, static_cast<std::int64_t>(set)});
      seqs.Add(garbage.back().seq);
      jobs.Add(std::int64_t{0});
      sets.Add(garbage.back().set);
    }
    if (!dead.empty()) db.Send(kPutGarbage, Params(queue_, seqs, jobs, sets));
    // A set that a job speaks of goes by the removal of that job alone, so it need not be asked about again.
    db.Send(kDropLoose, Params(queue_));
  });
  // Without space they are asked about again at the next start.
  if (!done) return done.error().code == Code::kDiskFull ? Result<void>() : done;
  tidier_.AddedGarbage(std::move(garbage));
  return {};
}

Result<void> StoreImpl::Commit(std::span<const Batch> batches) {
  if (tidier_.behind() && !writer_.in_flight()) {
    if (Result<bool> more = tidier_.Step(); !more) return more.error();
  }
  std::vector<Rows> rows;
  const Head before = writer_.head();
  const Result<void> done = writer_.Commit(
      WorkOf(batches), [&](Connection& db, Head& next) { committed_ = SendBatches(db, queue_, batches, next); }, &rows);
  if (!done) return done;
  const Committed committed = std::exchange(committed_, {});
  for (const int statement : committed.replaced) {
    if (!rows.empty()) writer_.AddBytes(-rows[static_cast<std::size_t>(statement)].Int(0, 0));
  }
  if (committed.dropped_journal) tidier_.DroppedEvents();
  tidier_.AddedEvents(committed.journal_rows);
  tidier_.AddedGarbage(committed.garbage);
  if (writer_.head().floor > before.floor) tidier_.RaisedFloor();
  for (const Committed::Segment& segment : committed.fresh) {
    cache_.Put(segment.set, segment.first, sqlite::UnpackedPayloads::From(segment.packed), false);
  }
  for (const Garbage& garbage : committed.garbage) {
    if (garbage.set != 0) cache_.Remove(JobId{static_cast<std::uint64_t>(garbage.set)});
  }
  Count();
  return {};
}

Result<void> StoreImpl::PutSetting(std::string_view name, std::string_view value) {
  const std::int64_t sum = sqlite::RowSum({}, std::string(name) + "=" + std::string(value));
  return writer_.Commit(Writer::kSmallWork,
                        [&](Connection& db, Head&) { db.Send(kPutSetting, Params(queue_, name, value, sum)); });
}

Result<std::optional<std::string>> StoreImpl::GetSetting(std::string_view name) {
  Result<Rows> rows = writer_.Look(kGetSetting, Params(queue_, name));
  if (!rows) return rows.error();
  if (rows->empty()) return std::optional<std::string>();
  std::string value(rows->Bytes(0, 0));
  if (rows->Int(0, 1) != sqlite::RowSum({}, std::string(name) + "=" + value)) return CorruptRow("settings");
  return std::optional<std::string>(std::move(value));
}

Result<Store::Usage> StoreImpl::ReadUsage() {
  Usage usage;
  usage.file_bytes = bytes_;
  usage.journal_rows = tidier_.journal_rows();
  usage.garbage_jobs = tidier_.garbage_jobs();
  usage.epoch = writer_.epoch;
  usage.reconnects = writer_.reconnects;
  usage.doubts = writer_.doubts;
  usage.fenced = writer_.fenced;
  usage.read_time = database_->read_time();
  return usage;
}

}  // namespace
}  // namespace postgres

Result<std::unique_ptr<Store>> PostgresStore::Open(std::shared_ptr<PostgresDatabase> database,
                                                   const std::string& queue) {
  const Result<std::int64_t> number = postgres::NumberOf(*database, queue);
  if (!number) return number.error();
  auto store = std::make_unique<postgres::StoreImpl>(std::move(database), *number, queue);
  if (Result<void> done = store->Claim(); !done) return done.error();
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> PostgresStore::Take(std::shared_ptr<PostgresDatabase> database, const std::string& queue,
                                                   std::int64_t number, const postgres::Ticket& ticket) {
  auto store = std::make_unique<postgres::StoreImpl>(std::move(database), number, queue, ticket.node);
  if (Result<void> done = store->Take(ticket); !done) return done.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/reads.h"

#include <algorithm>
#include <map>
#include <utility>

#include "store/packed/checksum.h"
#include "store/packed/lowest_outcomes.h"
#include "store/packed/packing.h"

namespace allot::postgres {
namespace {

using sqlite::RowSum;
using sqlite::UnpackedPayloads;

constexpr std::int64_t kSmallSegment = 4096;     // reading on behind larger ones is no gain
constexpr std::int64_t kOutcomeRows = 256;       // of one round trip
constexpr std::int64_t kOutcomeBytes = 1 << 20;  // of one round trip, unless a single one is longer
constexpr char kDamageHint[] = "restore a backup, or submit the job again";

// The segment with the task's payload first, if there is one; then some small ones of the sets behind it: jobs of one
// task are mostly taken in the order of their ids.
constexpr Statement kReadSegment{
    "read_segment",
    "(SELECT 0, set_id, first, segment, sum FROM payloads WHERE queue = $1::bigint AND set_id = $2::bigint AND first "
    "BETWEEN $3::bigint AND $4::bigint ORDER BY first DESC LIMIT 1) UNION ALL (SELECT 1, set_id, first, segment, sum "
    "FROM "
    "(SELECT * FROM payloads WHERE queue = $1::bigint AND set_id > $2::bigint ORDER BY set_id, first LIMIT $5::bigint) "
    "behind WHERE octet_length(segment) <= $6::bigint)"};

// The segments of several tasks, each once, in the order in which they are wanted; without those behind so many bytes,
// but for the first.
constexpr Statement kReadSegments{
    "read_segments",
    "WITH k AS (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS k (set_id, low, "
    "high, "
    "n)), d AS (SELECT k.set_id, f.first, min(k.n) AS n FROM k CROSS JOIN LATERAL (SELECT first FROM payloads WHERE "
    "queue "
    "= $1::bigint AND set_id = k.set_id AND first BETWEEN k.low AND k.high ORDER BY first DESC LIMIT 1) f GROUP BY "
    "k.set_id, f.first), s AS (SELECT d.set_id, d.first, d.n, p.segment, p.sum, sum(octet_length(p.segment)) OVER "
    "(ORDER "
    "BY d.n) - octet_length(p.segment) AS before FROM d CROSS JOIN LATERAL (SELECT segment, sum FROM payloads WHERE "
    "queue "
    "= $1::bigint AND set_id = d.set_id AND first = d.first LIMIT 1) p) SELECT n, set_id, first, CASE WHEN before < "
    "$5::bigint OR before = 0 THEN segment END, sum FROM s ORDER BY n"};

// Rows of outcomes in order behind (slice, seq), so many and so long at most; always one, if there is one. The last
// column is how many there would be, were they not too long.
constexpr Statement kReadOutcomes{
    "read_outcomes",
    "SELECT slice, seq, lowest, highest, packed, sum, n FROM (SELECT *, sum(octet_length(packed)) OVER (ORDER BY "
    "slice, "
    "seq) - octet_length(packed) AS before, count(*) OVER () AS n FROM (SELECT * FROM outcomes WHERE queue = "
    "$1::bigint "
    "AND job = $2::bigint AND (slice, seq) > ($3::bigint, $4::bigint) AND slice <= $5::bigint AND highest >= "
    "$6::bigint "
    "AND lowest < $7::bigint ORDER BY slice, seq LIMIT $8::bigint) r) s WHERE before < $9::bigint ORDER BY slice, seq"};
constexpr Statement kBeginReading{nullptr, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement kEndReading{nullptr, "COMMIT"};

Error DamagedPayloads(JobId set, std::int64_t first) {
  const std::string whose = first == kCommonPayload ? "the payload of all tasks"
                                                    : "the payloads of tasks from " + std::to_string(first) + " on";
  return {Code::kStoreCorrupt, whose + " of set " + std::to_string(set.value) + " are damaged in the database",
          kDamageHint};
}

std::shared_ptr<const UnpackedPayloads> SegmentOf(const Rows& rows, int row) {
  const std::string_view segment = rows.Bytes(row, 3);
  if (rows.Int(row, 4) != RowSum({rows.Id(row, 1), rows.Id(row, 2)}, segment)) return nullptr;
  return UnpackedPayloads::From(std::string(segment));
}

// A reading of outcomes that may take several round trips.
class OutcomeReading {
 public:
  OutcomeReading(std::int64_t queue, const Store::OutcomeQuery& query)
      : queue_(queue), query_(query), lowest_(query), slice_(query.from / sqlite::kSliceTasks), last_(Last(query)) {}

  Params Next() const {
    return Params(queue_, query_.job.value, slice_, seq_, std::uint64_t{last_ / sqlite::kSliceTasks},
                  std::uint64_t{query_.from}, std::min<std::uint64_t>(lowest_.end(), last_ + 1), kOutcomeRows,
                  kOutcomeBytes);
  }
  // True if there may be more that belongs to the answer.
  Result<bool> Take(const Rows& rows) {
    for (int row = 0; row < rows.size(); ++row) {
      const std::int64_t slice = rows.Int(row, 0);
      if (slice != slice_ && lowest_.full()) return false;
      slice_ = slice;
      seq_ = rows.Int(row, 1);
      const std::string_view packed = rows.Bytes(row, 4);
      const std::int64_t sum =
          RowSum({query_.job.value, static_cast<std::uint64_t>(slice), static_cast<std::uint64_t>(seq_)}, packed);
      if (rows.Int(row, 5) != sum || !sqlite::UnpackOutcomes(static_cast<std::uint32_t>(slice), packed, unpacked_)) {
        return Error{Code::kStoreCorrupt,
                     "results of tasks " + std::to_string(rows.Int(row, 2)) + " to " +
                         std::to_string(rows.Int(row, 3)) + " of job " + std::to_string(query_.job.value) +
                         " are damaged in the database",
                     "restore a backup, or go on behind them"};
      }
      for (const sqlite::PackedOutcome& outcome : unpacked_) lowest_.Add(query_.job, outcome);
    }
    return !rows.empty() && (rows.size() >= kOutcomeRows || rows.size() < rows.Int(0, 6));
  }
  std::vector<Outcome> Answer() { return lowest_.Take(); }

 private:
  static std::uint64_t Last(const Store::OutcomeQuery& query) {
    return std::min<std::uint64_t>(query.end - 1, 0xFFFFFFFF);
  }
  const std::int64_t queue_;
  const Store::OutcomeQuery& query_;
  sqlite::LowestOutcomes lowest_;
  std::int64_t slice_;
  std::int64_t seq_ = -1;
  const std::uint64_t last_;
  std::vector<sqlite::PackedOutcome> unpacked_;
};

}  // namespace

std::span<const Statement> ReadStatements() {
  static constexpr Statement kAll[] = {kReadSegment, kReadSegments, kReadOutcomes};
  return kAll;
}

Result<std::optional<std::string>> ReadPayload(PostgresDatabase& database, std::int64_t queue, JobId set,
                                               std::int64_t index, sqlite::PayloadCache& cache) {
  if (std::optional<std::string> payload = cache.Find(set, index)) return payload;
  Result<Rows> rows = database.Read(kReadSegment, Params(queue, set.value, std::min<std::int64_t>(index, 0), index,
                                                         static_cast<std::int64_t>(cache.ReadAhead()), kSmallSegment));
  if (!rows) return rows.error();
  std::optional<std::string> found;
  for (int row = 0; row < rows->size(); ++row) {
    const bool ahead = rows->Int(row, 0) != 0;
    if (ahead && !found) break;
    std::shared_ptr<const UnpackedPayloads> segment = SegmentOf(*rows, row);
    const std::int64_t first = rows->Int(row, 2);
    if (!segment && ahead) break;  // whoever asks for it will learn
    if (!segment) return DamagedPayloads(set, first);
    if (!ahead) {
      const auto nth = static_cast<std::uint64_t>(index - first);
      if (nth >= segment->count()) break;
      found = std::string(segment->At(nth));
    }
    cache.Put(JobId{rows->Id(row, 1)}, first, std::move(segment), ahead);
  }
  return found;
}

std::vector<Store::PayloadRead> ReadPayloads(PostgresDatabase& database, std::int64_t queue,
                                             std::span<const Store::PayloadKey> keys, std::size_t max_bytes,
                                             sqlite::PayloadCache& cache) {
  using Payload = Store::PayloadRead;
  std::vector<Payload> out;
  std::vector<std::optional<sqlite::PayloadCache::Found>> cached(keys.size());
  Array sets = Array::OfInts(), lows = Array::OfInts(), highs = Array::OfInts();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if ((cached[i] = cache.FindSegment(keys[i].set, keys[i].index))) continue;
    sets.Add(static_cast<std::int64_t>(keys[i].set.value));
    lows.Add(std::min<std::int64_t>(keys[i].index, 0));
    highs.Add(keys[i].index);
  }
  // By where they begin; none: it is left out for now, or damaged.
  struct Segment {
    std::shared_ptr<const UnpackedPayloads> payloads;
    bool left_out = false;
  };
  std::map<std::pair<std::uint64_t, std::int64_t>, Segment> segments;
  std::optional<Error> failed;
  if (sets.size() > 0) {
    Result<Rows> rows =
        database.Read(kReadSegments, Params(queue, sets, lows, highs, static_cast<std::int64_t>(max_bytes)));
    if (!rows) failed = rows.error();
    for (int row = 0; rows && row < rows->size(); ++row) {
      Segment& segment = segments[{rows->Id(row, 1), rows->Int(row, 2)}];
      segment.left_out = rows->IsNull(row, 3);
      if (segment.left_out) continue;
      segment.payloads = SegmentOf(*rows, row);
      if (segment.payloads) cache.Put(JobId{rows->Id(row, 1)}, rows->Int(row, 2), segment.payloads, false);
    }
  }
  std::size_t bytes = 0;
  const auto read = [&](const Store::PayloadKey& key) -> std::optional<Payload> {
    if (failed) return Payload(*failed);
    auto it = segments.upper_bound({key.set.value, key.index});
    if (it == segments.begin()) return Payload(std::optional<PinnedText>());
    --it;
    const auto [set, first] = it->first;
    const auto nth = static_cast<std::uint64_t>(key.index - first);
    if (set != key.set.value || first < std::min<std::int64_t>(key.index, 0)) {
      return Payload(std::optional<PinnedText>());
    }
    if (it->second.left_out) return std::nullopt;
    if (!it->second.payloads) return Payload(DamagedPayloads(key.set, first));
    if (nth >= it->second.payloads->count()) return Payload(std::optional<PinnedText>());
    return Payload(PinnedText(it->second.payloads->At(nth), it->second.payloads));
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::optional<Payload> payload =
        cached[i] ? Payload(PinnedText(cached[i]->At(keys[i].index), cached[i]->segment)) : read(keys[i]);
    if (!payload) break;
    if (*payload && (*payload)->has_value()) bytes += (**payload)->text().size();
    if (!out.empty() && bytes > max_bytes) break;
    out.push_back(std::move(*payload));
  }
  return out;
}

Result<std::vector<Outcome>> ReadOutcomes(PostgresDatabase& database, std::int64_t queue,
                                          const Store::OutcomeQuery& query) {
  if (query.end <= query.from || query.max == 0) return std::vector<Outcome>();
  {
    OutcomeReading reading(queue, query);
    Result<Rows> rows = database.Read(kReadOutcomes, reading.Next());
    if (!rows) return rows.error();
    const Result<bool> more = reading.Take(*rows);
    if (!more) return more.error();
    if (!*more) return reading.Answer();
  }
  // Once more from the beginning, now as of one moment: half a commit must not be seen.
  Result<PostgresDatabase::Lease> reader = database.Borrow();
  if (!reader) return reader.error();
  const auto deadline = [&] { return std::chrono::steady_clock::now() + database.options().read_patience; };
  if (Result<Rows> begun = (*reader)->Run(kBeginReading, Params(), deadline()); !begun) return begun.error();
  OutcomeReading reading(queue, query);
  Result<void> done;
  for (bool going_on = true; going_on;) {
    Result<Rows> rows = (*reader)->Run(kReadOutcomes, reading.Next(), deadline());
    if (!rows) return rows.error();
    const Result<bool> more = reading.Take(*rows);
    if (!more) done = more.error();
    going_on = more && *more;
  }
  if (Result<Rows> ended = (*reader)->Run(kEndReading, Params(), deadline()); !ended) return ended.error();
  if (!done) return done.error();
  return reading.Answer();
}

}  // namespace allot::postgres

#include "store/sqlite/reader.h"

#include <algorithm>
#include <map>

#include "store/sqlite/packing.h"

namespace allot::sqlite {
namespace {

constexpr std::size_t kSmallSegment = 4096;      // reading on behind larger ones is no gain
constexpr std::size_t kAheadBytes = 128 * 1024;  // of one read

Error Damaged(const char* table) {
  return {Code::kStoreCorrupt, std::string("a row of the table ") + table + " is damaged",
          "restore a backup: allot restore"};
}

// The outcomes with the lowest indices, as many as an answer may hold; of several for a task the last one.
class LowestOutcomes {
 public:
  explicit LowestOutcomes(const Store::OutcomeQuery& query) : query_(query), end_(query.end) {}

  // Outcomes from here on cannot be part of the answer.
  std::uint64_t end() const { return end_; }
  bool full() const { return !found_.empty() && (found_.size() >= query_.max || bytes_ >= query_.max_bytes); }

  void Add(JobId job, const PackedOutcome& packed) {
    if (packed.index < query_.from || packed.index >= end_) return;
    Outcome& outcome = found_[packed.index];
    bytes_ -= outcome.text.size();
    outcome = Outcome{job, packed.index, packed.kind, packed.attempt, std::string(packed.text)};
    bytes_ += outcome.text.size();
    // What lies behind a full answer goes, so that memory stays bounded by the answer.
    while (found_.size() > query_.max ||
           (found_.size() > 1 && bytes_ - found_.rbegin()->second.text.size() >= query_.max_bytes)) {
      const auto last = std::prev(found_.end());
      end_ = last->first;
      bytes_ -= last->second.text.size();
      found_.erase(last);
    }
  }

  std::vector<Outcome> Take() {
    std::vector<Outcome> out;
    out.reserve(found_.size());
    std::size_t bytes = 0;
    for (auto& [index, outcome] : found_) {
      bytes += outcome.text.size();
      if (!out.empty() && bytes > query_.max_bytes) break;
      out.push_back(std::move(outcome));
    }
    return out;
  }

 private:
  const Store::OutcomeQuery& query_;
  std::uint64_t end_;
  std::map<TaskIndex, Outcome> found_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& file, const std::string& vfs) {
  auto reader = std::make_unique<Reader>();
  Result<Database> db = Database::Open(file, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!db) return db.error();
  reader->db_ = std::move(*db);
  if (Result<void> done = reader->db_.Exec("PRAGMA cache_size = -1024"); !done) return done.error();
  const Result<void> prepared = PrepareAll(
      reader->db_,
      {{&reader->segments_,
        "SELECT set_id, first, segment FROM payloads WHERE (set_id, first) >= (?1, (SELECT max(first) FROM payloads"
        " WHERE set_id = ?1 AND first BETWEEN ?2 AND ?3)) ORDER BY set_id, first LIMIT ?4"},
       {&reader->outcomes_,
        "SELECT slice, lowest, highest, packed FROM outcomes WHERE job = ?1 AND slice BETWEEN ?2 AND ?3"
        " ORDER BY slice, seq"}});
  if (!prepared) return prepared.error();
  return reader;
}

Result<std::optional<std::string>> Reader::ReadPayload(JobId set, std::int64_t index, PayloadCache& cache) {
  const ResetAtEnd reset(segments_);
  segments_.Start(set.value, std::min<std::int64_t>(index, 0), index, std::uint64_t{cache.ReadAhead()});
  std::optional<std::string> found;
  std::size_t bytes = 0;
  for (int rows = 0;; ++rows) {
    const int code = segments_.Step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return db_.ErrorOf(code, "read payloads");
    const JobId row_set{static_cast<std::uint64_t>(segments_.Int(0))};
    const std::int64_t first = segments_.Int(1);
    const std::string_view segment = segments_.Blob(2);
    // If the set has no such segment, the comparison finds the next set.
    if (rows == 0 && row_set != set) break;
    cache.Put(row_set, first, std::string(segment), rows > 0);
    if (rows == 0) {
      const std::optional<std::uint64_t> count = PayloadCount(segment);
      if (!count) return Damaged("payloads");
      const auto nth = static_cast<std::uint64_t>(index - first);
      if (nth >= *count) break;
      const std::optional<std::string_view> text = PayloadAt(segment, nth);
      if (!text) return Damaged("payloads");
      found = std::string(*text);
    }
    bytes += segment.size();
    if (segment.size() > kSmallSegment || bytes > kAheadBytes) break;
  }
  return found;
}

Result<std::vector<Outcome>> Reader::ReadOutcomes(const Store::OutcomeQuery& query) {
  LowestOutcomes lowest(query);
  if (query.end <= query.from || query.max == 0) return lowest.Take();
  const ResetAtEnd reset(outcomes_);
  const std::uint64_t last = std::min<std::uint64_t>(query.end - 1, 0xFFFFFFFF);
  outcomes_.Start(query.job.value, query.from / kSliceTasks, last / kSliceTasks);
  std::vector<PackedOutcome> unpacked;
  std::int64_t current = -1;
  for (;;) {
    const int code = outcomes_.Step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return db_.ErrorOf(code, "read outcomes");
    const std::int64_t slice = outcomes_.Int(0);
    if (slice != current && lowest.full()) break;
    current = slice;
    // Rows beside the question are not unpacked, nor are their overflow pages read.
    const auto row_lowest = static_cast<std::uint64_t>(outcomes_.Int(1));
    const auto row_highest = static_cast<std::uint64_t>(outcomes_.Int(2));
    if (row_highest < query.from || row_lowest >= lowest.end()) continue;
    if (!UnpackOutcomes(static_cast<std::uint32_t>(slice), outcomes_.Blob(3), unpacked)) return Damaged("outcomes");
    for (const PackedOutcome& packed : unpacked) lowest.Add(query.job, packed);
  }
  return lowest.Take();
}

Result<ReaderPool::Lease> ReaderPool::Borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || lent_ < max_; });
  ++lent_;
  if (!idle_.empty()) {
    std::unique_ptr<Reader> reader = std::move(idle_.back());
    idle_.pop_back();
    return Lease(this, std::move(reader));
  }
  lock.unlock();
  Result<std::unique_ptr<Reader>> reader = Reader::Open(file_, vfs_);
  if (reader) return Lease(this, std::move(*reader));
  lock.lock();
  --lent_;
  returned_.notify_one();
  return reader.error();
}

void ReaderPool::Return(std::unique_ptr<Reader> reader) {
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    idle_.push_back(std::move(reader));
  }
  returned_.notify_one();
}

}  // namespace allot::sqlite

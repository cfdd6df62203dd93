// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/commit.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "store/packed/checksum.h"
#include "store/packed/packing.h"
#include "store/postgres/statements.h"

namespace allot::postgres {
namespace {

using sqlite::RowSum;

constexpr std::size_t kOutcomeRowBytes = 4000;         // two rows of this length fill a page of the table
constexpr std::size_t kCachedSegmentBytes = 4 * 1024;  // longer ones are not kept when they are written

class Sending {
 public:
  Sending(Connection& db, std::int64_t queue, std::span<const Batch> batches, Head& next)
      : db_(db), queue_(queue), batches_(batches), next_(next) {}

  Committed All() {
    // In the order of what readers must find when they hear of the rest.
    Payloads();
    Outcomes();
    Records();
    Removals();
    Events();
    for (const Batch& batch : batches_) next_.floor = std::max(next_.floor, batch.floor);
    next_.pos = std::max(next_.pos, next_.floor);
    return std::move(out_);
  }

 private:
  void Send(const Statement& statement, const Params& params) {
    ++statements_;
    db_.Send(statement, params);
  }
  void AddBytes(std::size_t n) { next_.bytes += static_cast<std::int64_t>(n); }

  void Payloads() {
    Array sets = Array::OfInts(), firsts = Array::OfInts(), segments = Array::OfBlobs(), sums = Array::OfInts();
    Array loose = Array::OfInts();
    // Of one that comes twice the later counts.
    std::map<std::pair<std::uint64_t, std::int64_t>, const PayloadSegment*> last;
    for (const Batch& batch : batches_) {
      JobId before;
      for (const PayloadSegment& segment : batch.payloads) {
        if (segment.payloads.empty()) continue;
        last[{segment.set.value, segment.first}] = &segment;
        if (!batch.payloads_spoken_for && segment.set != before) {
          before = segment.set;
          loose.Add(static_cast<std::int64_t>(segment.set.value));
        }
      }
    }
    for (const auto& [key, segment] : last) {
      std::string packed;
      sqlite::PackPayloads(segment->payloads, packed);
      sets.Add(static_cast<std::int64_t>(key.first));
      firsts.Add(key.second);
      segments.Add(std::string_view(packed));
      sums.Add(RowSum({key.first, static_cast<std::uint64_t>(key.second)}, packed));
      AddBytes(packed.size());
      if (packed.size() <= kCachedSegmentBytes) out_.fresh.push_back({segment->set, segment->first, std::move(packed)});
    }
    if (sets.size() > 0) Send(kPutPayloads, Params(queue_, sets, firsts, segments, sums));
    if (loose.size() > 0) Send(kPutLoose, Params(queue_, loose));
  }

  void Outcomes() {
    std::vector<const Outcome*> all;
    for (const Batch& batch : batches_) {
      for (const Outcome& outcome : batch.outcomes) all.push_back(&outcome);
    }
    if (all.empty()) return;
    // Stable: of two for one task, the later one stays the later one.
    std::stable_sort(all.begin(), all.end(), [](const Outcome* a, const Outcome* b) {
      return std::pair(a->job, a->index / sqlite::kSliceTasks) < std::pair(b->job, b->index / sqlite::kSliceTasks);
    });
    Array jobs = Array::OfInts(), slices = Array::OfInts(), seqs = Array::OfInts(), lowests = Array::OfInts();
    Array highests = Array::OfInts(), blobs = Array::OfBlobs(), sums = Array::OfInts();
    std::string packed;
    for (std::size_t i = 0; i < all.size();) {
      const JobId job = all[i]->job;
      const std::uint32_t slice = all[i]->index / sqlite::kSliceTasks;
      TaskIndex lowest = all[i]->index;
      TaskIndex highest = lowest;
      packed.clear();
      for (; i < all.size(); ++i) {
        const Outcome& outcome = *all[i];
        if (outcome.job != job || outcome.index / sqlite::kSliceTasks != slice) break;
        if (!packed.empty() && packed.size() + outcome.text.size() > kOutcomeRowBytes) break;
        lowest = std::min(lowest, outcome.index);
        highest = std::max(highest, outcome.index);
        sqlite::PackOutcome({outcome.index, outcome.kind, outcome.attempt, outcome.text}, packed);
      }
      const std::int64_t seq = next_.next_seq++;
      jobs.Add(static_cast<std::int64_t>(job.value));
      slices.Add(std::int64_t{slice});
      seqs.Add(seq);
      lowests.Add(static_cast<std::int64_t>(lowest));
      highests.Add(static_cast<std::int64_t>(highest));
      blobs.Add(std::string_view(packed));
      sums.Add(RowSum({job.value, slice, static_cast<std::uint64_t>(seq)}, packed));
      AddBytes(packed.size());
    }
    Send(kPutOutcomes, Params(queue_, jobs, slices, seqs, lowests, highests, blobs, sums));
  }

  void Records() {
    // Of several for one job, or page, the last counts.
    std::map<std::pair<std::uint64_t, std::uint32_t>, const Record*> last;
    for (const Batch& batch : batches_) {
      for (const Record& record : batch.records) last[{record.job.value, record.page}] = &record;
    }
    if (last.empty()) return;
    Array jobs = Array::OfInts(), job_blobs = Array::OfBlobs(), job_sums = Array::OfInts();
    Array page_jobs = Array::OfInts(), pages = Array::OfInts(), page_blobs = Array::OfBlobs();
    Array page_sums = Array::OfInts(), gone_jobs = Array::OfInts(), gone_page_jobs = Array::OfInts();
    Array gone_pages = Array::OfInts();
    for (const auto& [key, record] : last) {
      const auto job = static_cast<std::int64_t>(key.first);
      const auto page = static_cast<std::int64_t>(key.second);
      const std::string_view blob = record->blob;
      AddBytes(blob.size());
      if (key.second == kJobPage) {
        if (blob.empty()) {
          gone_jobs.Add(job);
          continue;
        }
        jobs.Add(job);
        job_blobs.Add(blob);
        job_sums.Add(RowSum({key.first}, blob));
      } else if (blob.empty()) {
        gone_page_jobs.Add(job);
        gone_pages.Add(page);
      } else {
        page_jobs.Add(job);
        pages.Add(page);
        page_blobs.Add(blob);
        page_sums.Add(RowSum({key.first, key.second}, blob));
      }
    }
    const auto send = [this](const Statement& statement, const Params& params) {
      out_.replaced.push_back(statements_);
      Send(statement, params);
    };
    if (jobs.size() > 0) send(kPutJobs, Params(queue_, jobs, job_blobs, job_sums));
    if (pages.size() > 0) send(kPutPages, Params(queue_, page_jobs, pages, page_blobs, page_sums));
    if (gone_jobs.size() > 0) send(kDeleteJobs, Params(queue_, gone_jobs));
    if (gone_pages.size() > 0) send(kDeletePages, Params(queue_, gone_page_jobs, gone_pages));
  }

  // A job that goes is remembered, and swept by and by.
  void Removals() {
    Array seqs = Array::OfInts(), jobs = Array::OfInts(), sets = Array::OfInts();
    for (const Batch& batch : batches_) {
      for (const Removal& removal : batch.removals) {
        const Garbage garbage{next_.next_seq++, static_cast<std::int64_t>(removal.job.value),
                              static_cast<std::int64_t>(removal.payload_set.value)};
        seqs.Add(garbage.seq);
        jobs.Add(garbage.job);
        sets.Add(garbage.set);
        out_.garbage.push_back(garbage);
      }
    }
    if (seqs.size() > 0) Send(kPutGarbage, Params(queue_, seqs, jobs, sets));
  }

  void Events() {
    Position last = 0;
    for (const Batch& batch : batches_) {
      if (batch.events.empty()) continue;
      if (last == 0 && batch.position <= next_.pos && next_.pos <= next_.floor) {
        // Everything was folded, and numbering began anew: what is left of the old must not stand behind the new.
        Send(kDropEvents, Params(queue_, next_.pos));
        out_.dropped_journal = true;
        next_.floor = next_.pos = 0;
      }
      CHECK(batch.position > std::max(last, next_.pos));
      last = batch.position;
    }
    if (last == 0) return;
    std::string packed;
    for (const Batch& batch : batches_) {
      if (!batch.events.empty()) sqlite::PackEvents(last, batch.position, batch.events, packed);
    }
    next_.pos = last;
    out_.journal_rows = 1;
    AddBytes(packed.size());
    Send(kPutEvents, Params(queue_, last, packed, std::int64_t{RowSum({last}, packed)}));
  }

  Connection& db_;
  const std::int64_t queue_;
  const std::span<const Batch> batches_;
  Head& next_;
  int statements_ = 0;
  Committed out_;
};

}  // namespace

Committed SendBatches(Connection& db, std::int64_t queue, std::span<const Batch> batches, Head& next) {
  return Sending(db, queue, batches, next).All();
}

std::uint64_t WorkOf(std::span<const Batch> batches) {
  std::uint64_t work = batches.size() + 1;
  const auto mix = [&work](std::uint64_t v) { work = (work ^ v) * 0x9E3779B97F4A7C15ull + (work >> 29); };
  for (const Batch& batch : batches) {
    for (const std::uint64_t v :
         {std::uint64_t{batch.position}, batch.events.size(), batch.payloads.size(), batch.outcomes.size(),
          batch.records.size(), batch.removals.size(), std::uint64_t{batch.floor}}) {
      mix(v);
    }
  }
  return work == Writer::kSmallWork ? 1 : work;
}

}  // namespace allot::postgres

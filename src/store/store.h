// SPDX-License-Identifier: Apache-2.0
// What must survive. One Store holds one queue: a journal of packed events, the records that they are folded into, and
// the payloads and results that the engine never looks at.
//
// The store does not know what events and records mean; the engine wrote them, and gets them back in Load():
//   - Every Commit() appends each batch's `events` as one row of the journal, under the batch's position.
//   - A record is the engine's own summary of a job (page == kJobPage) or of one page of its tasks. Writing it replaces
//   the
//     one before; an empty blob removes it. `floor` says that every event up to it is contained in records
//     already handed over, so those journal rows are dropped.
//   - Payloads and results go straight into tables of their own, packed.
//   - A removal deletes all rows of a job, in small steps, surely, crashes included.
//
// Threading: Load(), Commit(), Tidy() and settings by one thread at a time (the queue's store thread, once it runs);
//            the destructor when nobody uses it any more, on any thread. The Read…() and Backup() may be called from
//            any thread, at any time after Load(), and see only what was committed.
// Errors:    Code::kDiskFull from Commit() means that nothing of it was written and that it may be tried again.
//            Code::kUnavailable: it may be under way. The very same is to be tried again, which goes on with it, until
//            there is another answer; whoever gives it up does not learn whether it was written. Code::kFenced: another
//            server has the queue, and nothing was written. Any other error is final.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/record.h"
#include "base/result.h"

namespace allot {

inline constexpr std::int64_t kCommonPayload = -1;  // PayloadSegment::first of the payload for all tasks

// Payloads of consecutive tasks, beginning with `first`; each is JSON text. With first == kCommonPayload there is
// exactly one, for all tasks.
struct PayloadSegment {
  JobId set;
  std::int64_t first = 0;
  std::vector<std::string> payloads;
};

enum class OutcomeKind : std::uint8_t { kResult, kError };  // persisted: add at the end

// What a task's attempt left behind: JSON text for a result, plain text for an error. Of several for one task the last
// one written counts.
struct Outcome {
  JobId job;
  TaskIndex index = 0;
  OutcomeKind kind = OutcomeKind::kResult;
  std::uint32_t attempt = 0;
  std::string text;
};

// What is committed together. `position` is above every earlier one when there are events; batches without events
// have none (0) and leave no journal row.
struct Batch {
  Position position = 0;
  std::string events;
  std::vector<PayloadSegment> payloads;
  std::vector<Outcome> outcomes;
  std::vector<Record> records;
  std::vector<Removal> removals;
  Position floor = 0;  // 0: as before
  // The events of this very batch speak of all its payload sets, so that Load() need not ask about them. A set of
  // which any segment came without this is asked about.
  bool payloads_spoken_for = false;
};

// A payload where it lies in memory. It stays there as long as this does.
class PinnedText {
 public:
  PinnedText(std::string_view text, std::shared_ptr<const void> pin) : text_(text), pin_(std::move(pin)) {}
  // One that lies nowhere else.
  explicit PinnedText(std::string text) {
    auto own = std::make_shared<const std::string>(std::move(text));
    text_ = *own;
    pin_ = std::move(own);
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::shared_ptr<const void> pin_;
};

class Store {
 public:
  virtual ~Store() = default;

  struct Loader {
    std::function<Result<void>(const Record&)> on_record;               // a job's own before its pages
    std::function<Result<void>(Position, std::string_view)> on_events;  // in order of position, after the records
  };
  // Once, first: hands everything to `loader`, and drops payload sets of which no job record and no journal event
  // speaks: `live_sets` is asked after the last on_events.
  virtual Result<void> Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) = 0;

  // The highest position known, of events or floor; 0 if none. Numbering goes on above it.
  virtual Position LastPosition() const = 0;

  // All of it is durable on return, or none of it is there.
  virtual Result<void> Commit(std::span<const Batch> batches) = 0;

  // Whether a small Commit() just now is one write to the disk, and nothing of what it may have to do first. Never
  // where it waits for a network, and may have to be repeated as it was. As Commit().
  virtual bool CommitsAtOnce() const { return true; }

  // Does about a millisecond of background work: dropping folded journal rows and removed jobs, giving space back.
  // True while there is more to do. kDiskFull and kUnavailable: it may be tried again.
  virtual Result<bool> Tidy() = 0;

  // Small values that belong to the queue: its key, its settings. Durable on return; on the store thread.
  virtual Result<void> PutSetting(std::string_view name, std::string_view value) = 0;
  virtual Result<std::optional<std::string>> GetSetting(std::string_view name) = 0;

  // The payload of one task, none if the set has none for it; with kCommonPayload the one for all tasks.
  virtual Result<std::optional<std::string>> ReadPayload(JobId set, std::int64_t index) = 0;
  // The same of several tasks, in their order, in one go where that is less than one by one. More bytes than
  // `max_bytes` end it early, but never before the first.
  struct PayloadKey {
    JobId set;
    std::int64_t index = 0;
  };
  using PayloadRead = Result<std::optional<PinnedText>>;
  virtual std::vector<PayloadRead> ReadPayloads(std::span<const PayloadKey> keys, std::size_t max_bytes);
  // The outcomes of tasks from `from` on, before `end`, in order of index, one per task, at most `max`. More bytes
  // than `max_bytes` end it early, but never before the first: only an empty answer says that there are no more.
  struct OutcomeQuery {
    JobId job;
    TaskIndex from = 0;
    std::uint64_t end = 0;
    std::size_t max = 1000;
    std::size_t max_bytes = 8 << 20;
  };
  virtual Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery& query) = 0;

  // Lets others have the queue, where several servers share a place of queues. Nothing is written after that.
  virtual void Release() {}

  // Writes a complete, consistent copy to a new file while the store is in use.
  virtual Result<void> Backup(const std::string& file) = 0;

  struct Usage {
    std::uint64_t file_bytes = 0;  // all of the store's files, or what is stored of the queue
    std::uint64_t journal_rows = 0;
    std::uint64_t garbage_jobs = 0;  // removed, but not yet swept
    // Of a journal that is a file of its own, before what has the rows.
    std::uint64_t unapplied_bytes = 0;   // in it alone
    std::uint64_t journal_segments = 0;  // files
    const char* journal_writing = "";    // how it is written: "direct" or "synced"; empty before the first commit
    // Of a store in a database; zero elsewhere.
    std::uint64_t epoch = 0;                // how often the queue has changed its owner, or its owner's connection
    std::uint64_t reconnects = 0;           // of the owner's connection
    std::uint64_t doubts = 0;               // commits whose answer was lost
    std::uint64_t fenced = 0;               // commits that came after another server had taken the queue over
    std::chrono::nanoseconds read_time{0};  // of the last readings, smoothed
  };
  virtual Result<Usage> ReadUsage() = 0;

 protected:
  // ReadPayloads(), a read for each.
  static std::vector<PayloadRead> ReadOneByOne(std::span<const PayloadKey> keys, std::size_t max_bytes,
                                               const std::function<PayloadRead(const PayloadKey&)>& read);
};

}  // namespace allot

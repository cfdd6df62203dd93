// SPDX-License-Identifier: Apache-2.0
// Groups become rows of a queue's file.
//
// Threading: that of its Database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/journal/group.h"
#include "store/sqlite/sql.h"

namespace allot::journal {

class Applier {
 public:
  // Sweeps a removed job within the transaction, if that is little; else `gone` is false. Gives an error of SQLite's.
  using RemoveNow = std::function<int(const Removal&, bool& gone)>;
  // `remove_now` may be null: then all removed jobs are garbage, to be swept later.
  explicit Applier(sqlite::Database& db, RemoveNow remove_now = nullptr)
      : db_(db), remove_now_(std::move(remove_now)) {}
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // Reads how far the file is. First.
  Result<void> Prepare();

  std::uint64_t applied() const { return at_.applied; }  // groups up to this one
  Position floor() const { return at_.floor; }
  Position last_position() const { return at_.last_position; }

  struct Done {
    std::uint64_t journal_rows = 0;
    std::uint64_t dropped_rows = 0;
    std::uint64_t garbage = 0;
    std::uint64_t removed = 0;
  };
  // Those that are not applied yet, in one transaction, which waits for no disk. After an error nothing of it is there.
  // REQUIRES: they follow each other, and may go with one transaction (group.h).
  Result<Done> Apply(Groups groups);

 private:
  struct At {
    std::uint64_t applied = 0;
    Position floor = 0;
    Position last_position = 0;
    std::int64_t next_seq = 0;
  };

  // Each gives SQLITE_OK or an error of SQLite.
  int Write(Groups groups, At& at, Done& done);
  int WriteEvents(Groups groups, At& at, Done& done);
  int WriteOutcomes(Groups groups, At& at);
  int WriteBatch(const BatchView& batch, At& at, Done& done);
  int WritePayloads(const BatchView& batch);
  int WriteRecord(const RecordView& record);

  sqlite::Database& db_;
  const RemoveNow remove_now_;
  At at_;
  std::string scratch_;
  std::vector<const OutcomeView*> outcomes_;
  sqlite::Statement begin_, commit_, rollback_;
  sqlite::Statement put_events_, drop_events_, put_head_, put_segment_, put_loose_, put_outcomes_, put_outcome_index_;
  sqlite::Statement put_job_, delete_job_, put_page_, delete_page_, put_garbage_, put_state_, put_setting_;
};

// The checksum of a setting's row.
std::int64_t SettingSum(std::string_view name, std::string_view value);

}  // namespace allot::journal

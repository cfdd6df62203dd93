// SPDX-License-Identifier: Apache-2.0
// How a queue stands, for people who watch it: overview, history, users, pictures, receipts, and one action on many
// jobs.
//
// What the fields mean is in docs/reference/protocol: queues.md, users.md, jobs.md, receipts.md.
//
// Words (codes, kinds, levels, stages) are the protocol's: new ones may come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allotter/preview.h"
#include "allotter/types.h"

namespace allotter {

struct Overview {
  // Tasks a second, over the last ten seconds.
  struct Rates {
    double submitted = 0, started = 0, done = 0;
    double failed = 0;  // attempts
  };
  struct OldestWaiting {
    std::string job;
    std::int64_t since_at_ms;
  };
  struct WorkerCounts {
    std::uint64_t registered = 0, waiting = 0, away = 0, draining = 0, slots = 0, busy = 0;
  };
  // What blocks queued and retrying tasks, of all that match in the same way together.
  struct WaitReason {
    // Limits and ceilings that stop them: those that stop the most, a few, for your eyes.
    struct Limit {
      std::string uuid, tag, name;
      std::uint64_t tasks = 0;
    };
    struct Ceiling {
      std::string of, key;  // `policy` or `strategy`; `user`
      std::string value;    // as JSON
      std::uint64_t running = 0, max = 0, tasks = 0;
    };
    std::string code, kind;
    std::uint64_t tasks = 0, jobs = 0, classes = 0;
    std::optional<std::int64_t> since_at_ms;  // none: since before the server's start
    std::string job;                          // the one with the most tasks; empty: not for your eyes
    std::vector<std::string> tags;
    std::vector<Limit> limits = {};
    std::vector<Ceiling> ceilings = {};
  };
  struct Banner {
    std::string level;  // info warning error
    std::string code, message, hint;
    std::string job;  // empty: about none
  };

  Queue queue;
  Rates rates;
  std::optional<OldestWaiting> oldest_waiting;
  WorkerCounts workers;
  std::vector<WaitReason> reasons;  // those first that block the most
  std::vector<Banner> banners;
  std::string json;
};

// The same over time: a number for each step, oldest first.
struct History {
  std::int64_t step_ms = 1000, from_at_ms = 0;
  std::vector<std::uint64_t> submitted, started, done, failed;           // within the step
  std::vector<std::uint64_t> queued, retrying, running, oldest_wait_ms;  // at its end
  std::string json;
};

// A user's share of the queue against its use of it.
struct UserInfo {
  std::string user;
  double weight = 1, share = 0, use = 0;  // the last two: 0 … 1
  std::uint64_t jobs = 0, queued = 0, retrying = 0, running = 0, started = 0;
  double starts_per_s = 0;
  std::optional<std::int64_t> oldest_at_ms;
  // How long its last starts had waited.
  double waited_mean_ms = 0, waited_p50_ms = 0, waited_p95_ms = 0;
  std::string json;
};

struct UserQuery {
  std::string after = {};  // of the page before: UserPage::next
  std::string user = {};   // empty: all
  std::size_t limit = 1000;
};

struct UserPage {
  std::vector<UserInfo> users;  // in order of name
  std::string next;             // empty: that was all
  std::uint64_t active = 0, running = 0;
  double starts_per_s = 0;
};

// How a job's tasks stand over the range of their indices: parts of `width` tasks, a number for each.
struct Picture {
  std::string job;
  std::uint64_t count = 0, from = 0, to = 0, width = 0;
  std::vector<std::uint64_t> queued, running, retrying, done, failed, skipped;
  std::string json;
};

struct PictureQuery {
  std::uint64_t parts = 200, from = 0;
  std::optional<std::uint64_t> to = {};  // none: to the end
};

// How a start was decided.
struct Receipt {
  struct Stage {
    std::string stage, text;
  };
  std::uint64_t serial = 0;
  std::string job;
  std::uint64_t index = 0, attempt = 0;
  std::string worker, worker_name, user;
  std::int64_t at_ms = 0;
  std::uint64_t waited_ms = 0;
  std::vector<Stage> stages;  // empty, as `why`: not for your eyes
  std::string strategy, policy;
  std::vector<StrategyPreview::Step> why;
  std::string json;
};

struct ReceiptPage {
  std::vector<Receipt> receipts;      // newest first
  std::optional<std::uint64_t> next;  // give it back as `before`; none: that was all
};

enum class JobAction { kCancel, kPause, kResume, kRetry };

// Which jobs. REQUIRES: state, tag or user; or `all`.
struct ManyJobs {
  std::string state = {}, tag = {}, user = {};  // empty: any
  bool all = false;
  std::string up_to = {};  // none newer than this one; as a dry run said it
  bool dry_run = false;    // only count
};

struct ManyJobsAnswer {
  std::uint64_t matching = 0, changed = 0;
  std::uint64_t tasks = 0;  // theirs that have not ended
  std::string up_to;
  bool complete = true;  // false: it took too long, ask again
  bool dry_run = false;
  std::string json;
};

}  // namespace allotter

// SPDX-License-Identifier: Apache-2.0
// Who holds which task, and since when.
//
// Threading:  confined to the queue's engine thread.
// Invariants: a serial is never reused; a lease is in its worker's and its job's list for exactly as long as it lives.
//             That a task has at most one live lease follows from its state being "out" meanwhile (backlog/).
#pragma once

#include <cstdint>

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "base/siphash.h"
#include "base/time.h"

namespace allot {

struct EngineJob;
struct EngineWorker;
struct ByWorker;
struct ByJob;
template <typename Tag>
using LeaseHook = boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>,
                                                   boost::intrusive::link_mode<boost::intrusive::normal_link>>;

struct Lease : LeaseHook<ByWorker>, LeaseHook<ByJob> {
  TaskRef task;
  WorkerId worker;
  EngineJob* job = nullptr;        // that the task is of, as its owner knows it
  EngineWorker* lessee = nullptr;  // likewise: the worker
  std::uint32_t attempt = 1;       // of this delivery, from 1
  bool stop_requested = false;     // its worker was ordered to stop
  Instant granted{};
  WallTime granted_at{};
  Duration ttl{0};      // without a sign of life
  Duration timeout{0};  // at all; 0: none
};

// Lists of leases that somebody holds; the leases belong to the table.
template <typename Tag, bool kCounted>
using LeaseListOf = boost::intrusive::list<Lease, boost::intrusive::base_hook<LeaseHook<Tag>>,
                                           boost::intrusive::constant_time_size<kCounted>>;
using WorkerLeases = LeaseListOf<ByWorker, true>;
using JobLeases = LeaseListOf<ByJob, false>;

class LeaseTable {
 public:
  explicit LeaseTable(const SipKey& key) : key_(key) {}
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;
  ~LeaseTable();

  // A new lease on the task, in neither list yet.
  Lease& Grant(JobId job, TaskIndex index);
  // One that was granted before a restart. Its serial will not be used again.
  Lease& Restore(JobId job, TaskIndex index, std::uint64_t serial);
  // The live lease of exactly this task and id; null if there is none.
  Lease* Find(const TaskRef& task);
  Lease* FindSerial(std::uint64_t serial);
  // Was this id really issued for this task, whether it lives or not?
  bool Issued(const TaskRef& task) const;
  // Takes it out of both lists and forgets it.
  void End(Lease& lease, WorkerLeases* worker, JobLeases* job);

  std::size_t size() const { return leases_.size(); }
  std::uint64_t next_serial() const { return next_serial_; }
  void SkipTo(std::uint64_t serial) { next_serial_ = serial > next_serial_ ? serial : next_serial_; }

  // The proof that a worker is the one that was registered under this id.
  std::uint64_t WorkerKey(WorkerId worker) const;

 private:
  LeaseId MakeId(JobId job, TaskIndex index, std::uint64_t serial) const;

  const SipKey key_;
  std::uint64_t next_serial_ = 1;
  boost::unordered_flat_map<std::uint64_t, Lease*> leases_;
};

}  // namespace allot

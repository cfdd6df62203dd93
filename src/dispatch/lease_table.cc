// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lease_table.h"

#include <array>

#include "base/check.h"

namespace allot {
namespace {
constexpr std::uint64_t kWorkerKeyDomain = 0x776f726b65726b65;  // keeps worker keys and lease ids apart
}

LeaseTable::~LeaseTable() {
  // Whoever holds the lists may be gone already: hooks in normal mode do not care.
  for (auto& [serial, lease] : leases_) delete lease;
}

LeaseId LeaseTable::MakeId(JobId job, TaskIndex index, std::uint64_t serial) const {
  const std::array<std::uint64_t, 3> words = {job.value, index, serial};
  return LeaseId{serial, SipHash(key_, words)};
}

Lease& LeaseTable::Grant(JobId job, TaskIndex index) { return Restore(job, index, next_serial_); }

Lease& LeaseTable::Restore(JobId job, TaskIndex index, std::uint64_t serial) {
  auto* lease = new Lease;
  lease->task = TaskRef{job, index, MakeId(job, index, serial)};
  const bool fresh = leases_.emplace(serial, lease).second;
  CHECK(fresh);
  SkipTo(serial + 1);
  return *lease;
}

Lease* LeaseTable::FindSerial(std::uint64_t serial) {
  const auto found = leases_.find(serial);
  return found == leases_.end() ? nullptr : found->second;
}

Lease* LeaseTable::Find(const TaskRef& task) {
  Lease* lease = FindSerial(task.lease.serial);
  return lease != nullptr && lease->task == task ? lease : nullptr;
}

bool LeaseTable::Issued(const TaskRef& task) const {
  return task.lease.serial < next_serial_ && MakeId(task.job, task.index, task.lease.serial) == task.lease;
}

void LeaseTable::End(Lease& lease, WorkerLeases* worker, JobLeases* job) {
  if (worker != nullptr) worker->erase(worker->iterator_to(lease));
  if (job != nullptr) job->erase(job->iterator_to(lease));
  leases_.erase(lease.task.lease.serial);
  delete &lease;
}

std::uint64_t LeaseTable::WorkerKey(WorkerId worker) const {
  const std::array<std::uint64_t, 2> words = {worker.value, kWorkerKeyDomain};
  return SipHash(key_, words);
}

}  // namespace allot

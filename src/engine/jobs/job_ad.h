// SPDX-License-Identifier: Apache-2.0
// What a job says of itself: to others that are alike, and to expressions. And the same of workers.
#pragma once

#include <cstdint>

#include "engine/jobs/job.h"
#include "engine/jobs/job_batch.h"
#include "engine/types.h"
#include "expr/ad.h"

namespace allot {

JobTerms TermsOf(const JobSpec& spec);
expr::Ad AdOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta);
expr::Ad AdOf(const EngineJob& job);
WorkerTraits TraitsOf(const EngineWorker& worker);
// Is there no worker at all that could meet its requirements?
bool Never(const expr::Expr& requirements, const expr::Ad& ad);
// Of what expressions see of the job under that name.
std::size_t HashOfAttribute(const EngineJob& job, const std::string& name);

// Empty if it has none.
inline const Meta& MetaOf(const EngineJob& job) {
  static const Meta kNone;
  return job.extras ? *job.extras->meta : kNone;
}

}  // namespace allot

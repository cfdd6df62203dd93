// SPDX-License-Identifier: Apache-2.0
// For tests: an engine with users' jobs, workers at sites, and limits on what starts where.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/testing.h"
#include "limits/testing.h"

namespace allot::testing {

class LimitedEngineTest : public EngineTest {
 protected:
  JobId SubmitOf(const std::string& user, std::uint32_t count = 1, Meta meta = {}) {
    JobSpec spec = Spec(count);
    spec.user = user;
    spec.meta = std::move(meta);
    spec.lease = job_lease_;
    return Submit(spec);
  }
  // A connected worker; without a site, if that is empty.
  WorkerId RegisterAt(const std::string& site, std::vector<std::string> tags = {"a"}) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.name = "at-" + site;
    spec.tags = std::move(tags);
    spec.connected = true;
    if (!site.empty()) spec.attributes = {{"Site", site}};
    EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
    return spec.id;
  }
  void SetLimit(const std::string& uuid, const LimitSpec& spec) {
    const auto lease = engine_->limits().Create(now_, uuid, spec);
    ASSERT_TRUE(lease.ok()) << lease.error().message;
  }

  milliseconds job_lease_ = JobSpec{}.lease;
};

}  // namespace allot::testing

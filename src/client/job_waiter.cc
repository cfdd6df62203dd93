// SPDX-License-Identifier: Apache-2.0
#include "allotter/job_waiter.h"

#include <utility>

#include "base/json.h"
#include "client/wait_link.h"

namespace allotter {

class JobWaiter::Impl {
 public:
  explicit Impl(std::unique_ptr<WaitLink> connected) : link(std::move(connected)) {}
  std::unique_ptr<WaitLink> link;
};

JobWaiter::JobWaiter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobWaiter::JobWaiter(JobWaiter&&) noexcept = default;
JobWaiter& JobWaiter::operator=(JobWaiter&&) noexcept = default;
JobWaiter::~JobWaiter() = default;

Result<JobWaiter> JobWaiter::Open(const ConnectionOptions& options) {
  auto link = WaitLink::Open(options);
  if (!link) return link.error();
  return JobWaiter(std::make_unique<Impl>(std::move(*link)));
}

Result<void> JobWaiter::Add(std::span<const std::string> jobs) {
  std::string text = "{\"wait\":[";
  for (const std::string& job : jobs) {
    if (&job != jobs.data()) text.push_back(',');
    allot::AppendJsonString(job, text);
  }
  text.append("]}");
  return impl_->link->Say(text);
}

Result<std::vector<JobWaiter::Ended>> JobWaiter::Next() {
  for (;;) {
    auto message = impl_->link->Next();
    if (!message) return message.error();
    if (!(*message)->ended.empty()) return std::move((*message)->ended);
  }
}

}  // namespace allotter

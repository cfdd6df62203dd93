// SPDX-License-Identifier: Apache-2.0
// Looking at many queues at once: each on its own engine thread.
//
//   co_await LookAtEach(call, queues, visit);  // then the network thread
//
// `visit(round, i)` runs on the engine thread of queues[i]. The flow goes on once all have; one that is gone has
// nothing to say, and is not waited for. Both arguments stay where they are until then: they are locals of the flow.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "server/flow/flow.h"

namespace allot {

template <typename Visit>
class EachQueueHop final : public HopAwaiter {
 public:
  EachQueueHop(const std::vector<QueuePtr>& queues, Visit& visit, bool many)
      : queues_(queues), visit_(visit), many_(many) {}
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override {
    const AskerId asker = flow->asker();
    NetThread& home = flow->home();
    // The last one to let go of it, wherever that is, sends the flow on.
    struct All {
      explicit All(FlowPtr f) : flow(std::move(f)) {}
      ~All() {
        NetThread& back = flow->home();
        back.Post(FlowState::ToHome(std::move(flow)));
      }
      All(const All&) = delete;
      All& operator=(const All&) = delete;
      FlowPtr flow;
    };
    const auto all = std::make_shared<All>(std::move(flow));
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      auto visit = [all, &home, &visit = visit_, i](Round& round) {
        visit(round, i);
        round.Send(home, [all] {});  // what it has seen is durable
      };
      home.Post(queues_[i],
                many_ ? Command::Browse(asker, std::move(visit)) : Command::Look(std::move(visit)).By(asker));
    }
  }

 private:
  const std::vector<QueuePtr>& queues_;
  Visit& visit_;
  const bool many_;
};

// At one thing each.
template <typename Visit>
EachQueueHop<Visit> LookAtEach(Call&, const std::vector<QueuePtr>& queues, Visit& visit) {
  return EachQueueHop<Visit>(queues, visit, false);
}
// At many: they wait in line.
template <typename Visit>
EachQueueHop<Visit> BrowseEach(Call&, const std::vector<QueuePtr>& queues, Visit& visit) {
  return EachQueueHop<Visit>(queues, visit, true);
}

}  // namespace allot

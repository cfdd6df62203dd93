// SPDX-License-Identifier: Apache-2.0
#include "server/flow/flow.h"

namespace allot {

void FlowState::Run(FlowPtr flow) {
  FlowState& state = *flow;
  do {
    state.innermost_.resume();
    if (Hop* const hop = std::exchange(state.hop_, nullptr)) return hop->Leave(std::move(flow));
  } while (!state.over_);
  if (state.thrown_) {
    const std::exception_ptr thrown = std::move(state.thrown_);
    flow.reset();
    std::rethrow_exception(thrown);
  }
  Finish(std::move(flow));
}

void FlowState::Finish(FlowPtr flow) {
  FlowState& state = *flow;
  NetThread& home = state.home_;
  switch (state.place_) {
    case Place::kHome:
      if (const Answer* const answer = std::get_if<Answer>(&state.ending_)) {
        const QueuePtr& queue = state.call_.queue;
        // What was changed is durable, whoever has the queue now. What was only looked at may be out of date.
        if (state.only_looked_ && queue != nullptr && !queue->MayAnswer()) {
          return state.call_.Fail(ErrorOf(Stall::kUnavailable));
        }
        state.call_.reply.Send(answer->status, answer->body, answer->type);
      } else if (const Error* const error = std::get_if<Error>(&state.ending_)) {
        state.call_.Fail(*error);
      }
      return;
    case Place::kEngine: {
      Round* const round = state.round_;
      CHECK(round != nullptr);
      return round->Send(home, ToHome(std::move(flow)));
    }
    case Place::kLane:
      return home.Post(ToHome(std::move(flow)));
  }
}

void FlowState::End(FlowPtr flow, Ending ending) {
  flow->ending_ = std::move(ending);
  flow->over_ = true;
  Finish(std::move(flow));
}

void FlowState::End(FlowPtr flow, Round& round, Ending ending) {
  flow->place_ = Place::kEngine;
  flow->round_ = &round;
  End(std::move(flow), std::move(ending));
}

void FlowState::GoOn(FlowPtr flow, Round& round) {
  flow->place_ = Place::kEngine;
  flow->round_ = &round;
  Run(std::move(flow));
}

void FlowState::Invoke(Closure& self) {
  self.Release();
  FlowPtr flow(this);
  if (over_) return Finish(std::move(flow));
  Run(std::move(flow));
}

void FlowState::Invoke(UniqueFunction<void(Round&)>& self, Round& round) {
  self.Release();
  FlowPtr flow(this);
  if (round.crowded) return End(std::move(flow), round, Crowded());
  round.what = call_.what();
  GoOn(std::move(flow), round);
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "server/flow/places.h"

#include <utility>

namespace allot {

void EngineHop::Leave(FlowPtr flow) {
  FlowState& state = *flow;
  NetThread& home = state.home();
  const AskerId asker = state.asker();
  const bool from_home = state.place() == FlowState::Place::kHome;
  const bool watching = state.call().request.asker != 0;
  const QueuePtr queue = state.call().queue;  // the flow may be gone before its queue has let go of it
  UniqueFunction<void(Round&)> go_on = FlowState::ToEngine(std::move(flow));
  Command command;
  switch (kind_) {
    case Kind::kChange:
      state.Changes();
      command = Command(std::move(go_on)).By(asker);
      break;
    case Kind::kLook:
    case Kind::kBriefLook:
      command = Command::Look(std::move(go_on)).By(asker).Light(kind_ == Kind::kBriefLook);
      break;
    case Kind::kBrowse:
      command = Command::Browse(asker, std::move(go_on));
      if (!watching) command = std::move(command).OrRefuse();
      break;
    case Kind::kBrowseOn:
      command = Command::Browse(asker, std::move(go_on));
      break;
  }
  if (from_home) return home.Post(queue, std::move(command));
  queue->Post(std::move(command));
}

void CommitHop::Leave(FlowPtr flow) {
  Round* const round = flow->round();
  CHECK(round != nullptr);
  NetThread& home = flow->home();
  round->Send(home, FlowState::ToHome(std::move(flow)));
}

void HomeHop::Leave(FlowPtr flow) {
  NetThread& home = flow->home();
  home.Post(FlowState::ToHome(std::move(flow)));
}

void RenderHop::Leave(FlowPtr flow) {
  FlowState& state = *flow;
  RenderLane& lane = state.call().server.rendering;
  const AskerId asker = state.asker();
  Admission::Entry entry;
  if (rule_ != RenderRule::kAnyway) {
    CHECK(state.place() == FlowState::Place::kHome);
    if (!state.call().reply.alive()) return;
    // Views that are watched are bounded, and one look at each is under way.
    if (rule_ == RenderRule::kUsual && state.call().request.asker == 0) {
      entry = lane.Enter(asker);
      if (!entry) return FlowState::End(std::move(flow), Crowded());
    }
  }
  lane.Post(asker, FlowState::ToLane(std::move(flow)), std::move(entry));
}

void ParseHop::Leave(FlowPtr flow) {
  RenderLane& lane = flow->call().server.parsing;
  const AskerId asker = flow->asker();
  Admission::Entry entry = lane.Enter(asker);
  if (!entry) return FlowState::End(std::move(flow), Crowded());
  lane.Post(asker, FlowState::ToLane(std::move(flow)), std::move(entry));
}

void LaneHop::Leave(FlowPtr flow) { lane_.Post(FlowState::ToLane(std::move(flow))); }

}  // namespace allot

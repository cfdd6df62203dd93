// SPDX-License-Identifier: Apache-2.0
// Where a flow goes on, as words: what is awaited in a handler.
//
// Commands of one flow, and of one asker, run in the order in which they are awaited. A queue that is gone drops what
// it has: the flow ends there.
#pragma once

#include "server/flow/flow.h"
#include "server/queue/render_lane.h"
#include "server/queue/slow_lane.h"

namespace allot {

// --- The engine thread of the call's queue

class EngineHop final : public HopAwaiter {
 public:
  enum class Kind { kChange, kLook, kBriefLook, kBrowse, kBrowseOn };
  explicit EngineHop(Kind kind) : kind_(kind) {}
  RoundHere await_resume() const noexcept { return RoundHere(flow()); }
  void Leave(FlowPtr flow) override;

 private:
  Kind kind_;
};

// To change something. It waits while the disk is full.
inline EngineHop OnEngine(Call&) { return EngineHop(EngineHop::Kind::kChange); }
// To look, at one thing, or to refuse a change while the disk is full.
inline EngineHop Look(Call&) { return EngineHop(EngineHop::Kind::kLook); }
// The same for what is surely short: it may run on this thread.
inline EngineHop LookBriefly(Call&) { return EngineHop(EngineHop::Kind::kBriefLook); }
// To look at many things: it waits in line with what others ask, and has a fair part of the engine's time. The flow
// ends with kUnavailable where too many of the same asker wait already, unless the server asks on behalf of those who
// watch.
inline EngineHop Browse(Call&) { return EngineHop(EngineHop::Kind::kBrowse); }
// The same for what has its bound elsewhere, and for further steps of it: it is not refused.
inline EngineHop BrowseOn(Call&) { return EngineHop(EngineHop::Kind::kBrowseOn); }

// --- The network thread of the call's connection

// From the engine thread, once everything that was decided so far is durable.
class CommitHop final : public HopAwaiter {
 public:
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;
};
inline CommitHop AfterCommit(RoundHere) { return {}; }

// From a lane.
class HomeHop final : public HopAwaiter {
 public:
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;
};
inline HomeHop OnNetwork(Call&) { return {}; }

// --- Lanes: threads for what may take long

// From the network thread, for an answer that may be large or take long.
enum class RenderRule {
  kUsual,  // the flow ends with kUnavailable where too many of the same asker wait to be put into words
  kSmall,  // never that: what it has meanwhile is small. In both, it ends where the client is gone
  kAnyway  // it goes on, whatever the client does. From any thread
};
class RenderHop final : public HopAwaiter {
 public:
  explicit RenderHop(RenderRule rule) : rule_(rule) {}
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;

 private:
  RenderRule rule_;
};
inline RenderHop OnRenderLane(Call&, RenderRule rule = RenderRule::kUsual) { return RenderHop(rule); }

// From the network thread, for a body that may take long to parse. The flow ends with kUnavailable where too many of
// the same asker wait.
class ParseHop final : public HopAwaiter {
 public:
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;
};
inline ParseHop OnParseLane(Call&) { return {}; }

// From any thread.
class LaneHop final : public HopAwaiter {
 public:
  explicit LaneHop(SlowLane& lane) : lane_(lane) {}
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;

 private:
  SlowLane& lane_;
};
inline LaneHop OnLane(SlowLane& lane) { return LaneHop(lane); }

}  // namespace allot

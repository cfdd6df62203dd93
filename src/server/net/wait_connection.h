// SPDX-License-Identifier: Apache-2.0
// A client that waits for many jobs on a WebSocket: /v1/queues/Q/wait.
//
// Threading: confined to its network thread, except as said.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/looks/views.h"
#include "server/net/net_thread.h"
#include "server/net/ws_connection.h"
#include "server/ops/principal.h"

namespace allot {

class WaitConnection final : public WsConnection {
 public:
  WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal, std::string_view peer);

  // What became of jobs that it asked for.
  void OnEnded(const JobView& job);
  void OnUnknown(const std::vector<JobId>& jobs);

 protected:
  Reading OnMessage(std::string_view text) override;
  bool NextMessage(std::string& out) override;
  void OnGone() override;
  void OnSweep() override;
  bool asks_for_signs() const override { return true; }

 private:
  void Say(const Error& error);
  // On the engine thread: takes the next of these jobs, and posts itself for the rest. `from` of them are taken.
  void Take(Round& round, const std::shared_ptr<const std::vector<JobId>>& jobs, std::size_t from);
  // On the engine thread: forgets its waits, some at a time.
  static void Forget(Round& round, const QueuePtr& queue, std::uint64_t id);

  const QueuePtr queue_;
  const PrincipalPtr principal_;
  const std::uint64_t id_;
  const AskerId asker_;
  std::atomic<bool> left_{false};  // for the engine thread: nobody waits any more
  std::string ended_;              // items of the next message
  std::string unknown_;            // items of the next message
  std::string error_;
};

}  // namespace allot

// A client that waits for many jobs on a WebSocket: /v1/queues/Q/wait.
//
// Threading: confined to its network thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "server/net_thread.h"
#include "server/principal.h"
#include "server/ws_connection.h"

namespace allot {

class WaitConnection final : public WsConnection {
 public:
  WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal);

  // What became of jobs that it asked for.
  void OnEnded(const JobView& job);
  void OnUnknown(const std::vector<JobId>& jobs);

 protected:
  Reading OnMessage(std::string_view text) override;
  bool NextMessage(std::string& out) override;
  void OnGone() override;
  bool asks_for_signs() const override { return true; }

 private:
  void Say(const Error& error);

  const QueuePtr queue_;
  const PrincipalPtr principal_;
  const std::uint64_t id_;
  std::string ended_;    // items of the next message
  std::string unknown_;  // items of the next message
  std::string error_;
};

}  // namespace allot

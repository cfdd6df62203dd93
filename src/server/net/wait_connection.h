// SPDX-License-Identifier: Apache-2.0
// A client that waits for many jobs on a WebSocket, or reads results as they complete: /v1/queues/Q/wait.
//
// Threading: confined to its network thread, except as said.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/looks/follow_looks.h"
#include "engine/looks/views.h"
#include "server/net/net_thread.h"
#include "server/net/ws_connection.h"
#include "server/ops/principal.h"
#include "server/wire/request_json.h"

namespace allot {

class WaitConnection final : public WsConnection {
 public:
  WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal, std::string_view peer);

  // What became of jobs that it asked for.
  void OnEnded(const JobView& job);
  void OnUnknown(const std::vector<JobId>& jobs);
  // In a round: there may be results of a job that it reads.
  void PushResults(Round& round, JobId job, bool news);
  // In a round: nothing looks at the job for it any more.
  void Unwatched(JobId job);

 protected:
  Reading OnMessage(std::string_view text) override;
  bool NextMessage(std::string& out) override;
  void OnGone() override;
  void OnSweep() override;
  bool asks_for_signs() const override { return true; }

 private:
  // What a message asks for. Sets are made where it was read: they may be large.
  struct Asked {
    struct Results {
      JobId job;
      std::uint32_t credit = 0;
      TaskSet have;
    };
    std::vector<JobId> wait;
    std::vector<Results> results;
  };
  using AskedPtr = std::shared_ptr<Asked>;
  struct Reader {
    ResultsReader at;
    std::uint32_t credit = 0;
    bool watched = false;  // it hears of what ends
    bool going = false;    // a command that goes on is under way
  };
  // Results that wait to be written.
  struct Ends {
    JobId job;
    std::vector<EndedTask> tasks;
    std::size_t next = 0;
    bool end = false;
  };

  void Say(const Error& error);
  void OnResults(Ends ends);
  void WriteResults(std::string& out);
  // In a round: takes the next of what was asked for, and posts itself for the rest. `from` waits are taken.
  void Take(Round& round, const AskedPtr& asked, std::size_t from);
  // False: it was refused.
  bool TakeResults(Round& round, Asked::Results& asked);
  // On the engine thread: forgets its waits, some at a time.
  static void Forget(Round& round, const QueuePtr& queue, std::uint64_t id);

  const QueuePtr queue_;
  const PrincipalPtr principal_;
  const std::uint64_t id_;
  const AskerId asker_;
  std::atomic<bool> left_{false};              // for the engine thread: nobody waits any more
  std::unordered_map<JobId, Reader> readers_;  // in rounds alone
  std::deque<Ends> results_;                   // before all else
  std::string ended_;                          // items of the next message
  std::string unknown_;                        // items of the next message
  std::string error_;
};

}  // namespace allot

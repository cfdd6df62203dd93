// SPDX-License-Identifier: Apache-2.0
// A worker on a WebSocket: /v1/queues/Q/work.
//
// Threading: confined to its network thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/net_thread.h"
#include "server/net/ws_connection.h"
#include "server/ops/principal.h"
#include "server/queue/worker_table.h"

namespace allot {

class WorkerConnection final : public WsConnection, public WorkerLink {
 public:
  WorkerConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal, std::string peer);

  // From the engine thread's side, on this thread.
  void Deliver(WorkerNews news) override;

 protected:
  Reading OnMessage(std::string_view text) override;
  void OnSign() override;
  bool NextMessage(std::string& out) override;
  void OnSent() override;
  void OnRefused() override;
  void OnSweep() override;
  void OnGone() override;
  bool expects_hello() const override { return true; }

 private:
  void OnHello(std::string_view text);
  void OnWelcome(Result<RegisterAnswer> answer);
  void Welcome(Result<RegisterAnswer> answer);
  void TakeNews(WorkerNews news);
  void Say(const Error& error, std::optional<std::uint64_t> seq);
  bool HasRoom() const;  // for more of its messages
  // To its queue, in order with all others of the connection.
  template <typename F>
  void PostToQueue(F&& f, bool light = false) {
    net().Post(queue_, Command(std::forward<F>(f)).By(asker_).Light(light));
  }
  WorkerLinkPtr Link() { return {shared_from_this(), static_cast<WorkerLink*>(this)}; }

  const QueuePtr queue_;
  const PrincipalPtr principal_;
  const std::string peer_;
  const AskerId asker_;
  bool greeted_ = false;  // hello was said
  WorkerId worker_;       // 0: not registered yet
  WorkerMessage message_;
  std::size_t unanswered_ = 0;  // messages given to the engine
  std::deque<WorkerNews> news_;
  std::size_t next_grant_ = 0;  // of news_.front()
  std::vector<TaskRef> named_;  // by the last message
  std::vector<TaskRef> refused_;
  std::string said_;  // goes before the news
};

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// The same question to all other nodes at once.
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "server/peers/peers_inner.h"

namespace allot {
namespace {

constexpr auto kAskPatience = std::chrono::milliseconds(1000);
constexpr std::size_t kMaxAsked = 16 * 1024 * 1024;

}  // namespace

struct Peers::Asking {
  Asking(Peers& peers, Thread& its_thread, Request its_request, UniqueFunction<void(std::vector<NodeAnswer>)> its_done)
      : thread(its_thread),
        request(std::move(its_request)),
        done(std::move(its_done)),
        running(peers),
        deadline(its_thread.net->io(), kAskPatience) {}
  Thread& thread;
  const Request request;
  std::vector<cluster::NodeRow> nodes;
  std::vector<NodeAnswer> answers;
  std::vector<UpstreamPtr> upstreams;
  std::size_t left = 0;
  UniqueFunction<void(std::vector<NodeAnswer>)> done;
  const Running running;
  asio::steady_timer deadline;

  void One() {
    if (--left > 0) return;
    deadline.cancel();
    done(std::move(answers));
  }
};

void Peers::AskAll(NetThread& net, const Request& request, UniqueFunction<void(std::vector<NodeAnswer>)> done) {
  Thread& thread = ThreadOf(net);
  const auto asking = std::make_shared<Asking>(*this, thread, request, std::move(done));
  const cluster::PicturePtr picture = node_.picture();
  std::vector<cluster::NodeRow>& others = asking->nodes;
  for (const cluster::NodeRow& node : picture->nodes) {
    if (!node.dead && node.incarnation != picture->incarnation) others.push_back(node);
  }
  asking->left = others.size() + 1;
  asking->answers.resize(others.size());
  asking->upstreams.resize(others.size());
  asking->deadline.async_wait([weak = std::weak_ptr<Asking>(asking)](error_code ec) {
    const std::shared_ptr<Asking> late = weak.lock();
    if (ec || late == nullptr) return;
    for (const UpstreamPtr& upstream : late->upstreams) {
      if (upstream != nullptr) upstream->Close();
    }
  });
  for (std::size_t i = 0; i < others.size(); ++i) {
    asking->answers[i].node = others[i].name;
    asio::co_spawn(net.io(), AskOne(asking, i), asio::detached);
  }
  asking->One();
}

asio::awaitable<void> Peers::AskOne(std::shared_ptr<Asking> asking, std::size_t which) {
  const UpstreamPtr upstream = co_await Connect(asking->thread, asking->nodes[which], false);
  if (upstream != nullptr) {
    asking->upstreams[which] = upstream;
    const std::string head = HeadFor(asking->request, upstream->address(), "");
    const bool written = co_await upstream->Write(head);
    std::optional<UpstreamHead> answer;
    if (written) answer = co_await ReadHead(*upstream);
    if (answer && answer->status == 200 && answer->length && *answer->length <= kMaxAsked) {
      std::string& body = asking->answers[which].body;
      const std::size_t length = *answer->length;
      const bool complete = co_await ReadBody(*upstream, length, body);
      if (!complete) body.clear();
      if (complete && answer->keep_alive) GiveBack(asking->thread, upstream);
    } else {
      upstream->Close();
    }
    asking->upstreams[which].reset();
  }
  asking->One();
}

}  // namespace allot

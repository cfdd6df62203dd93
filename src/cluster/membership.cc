// SPDX-License-Identifier: Apache-2.0
#include "cluster/membership.h"

#include <algorithm>
#include <utility>

namespace allot::cluster {
namespace {

// The same in all versions: nodes of several would otherwise disagree.
std::uint64_t Weigh(std::string_view node, std::string_view queue) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ 0x100) * 0x100000001b3ull;  // so that no two pairs of names read the same
  };
  mix(node);
  mix(queue);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}

}  // namespace

std::string_view NodeOf(std::string_view writer) {
  const std::size_t dot = writer.find('.');
  return dot == std::string_view::npos ? std::string_view() : writer.substr(0, dot);
}

std::string_view HomeOf(std::string_view queue, const std::vector<std::string>& nodes) {
  std::string_view best;
  std::uint64_t most = 0;
  for (const std::string& node : nodes) {
    const std::uint64_t weight = Weigh(node, queue);
    if (!best.empty() && (weight < most || (weight == most && best < node))) continue;
    best = node;
    most = weight;
  }
  return best;
}

void Membership::Beaten(Instant sent) { may_answer_until_ = std::max(may_answer_until_, sent + timing_.may_answer); }

void Membership::Observe(Instant now, std::vector<NodeRow> nodes, std::vector<QueueRow> queues) {
  const bool anew = now - observed_ > timing_.missed;
  observed_ = now;
  nodes_ = std::move(nodes);
  queues_ = std::move(queues);
  std::map<std::string, Seen> seen;
  std::set<std::string> alive;
  homes_.clear();
  draining_ = false;
  for (const NodeRow& node : nodes_) {
    if (node.dead) continue;
    alive.insert(node.incarnation);
    if (!node.draining) homes_.push_back(node.name);
    if (node.incarnation == incarnation_) {
      draining_ = node.draining;
      continue;
    }
    const auto before = seen_.find(node.incarnation);
    const bool same = !anew && before != seen_.end() && before->second.beat == node.beat;
    seen[node.incarnation] = same ? before->second : Seen{node.beat, now};
  }
  if (homes_.empty()) {
    // Where all drain, none can be spared.
    for (const NodeRow& node : nodes_) {
      if (!node.dead) homes_.push_back(node.name);
    }
  }
  seen_ = std::move(seen);
  if (anew || alive != alive_) settled_ = now;
  alive_ = std::move(alive);
}

bool Membership::IsFree(const QueueRow& queue) const {
  if (queue.incarnation.empty()) return true;
  const std::string node(NodeOf(queue.incarnation));
  return node.empty() ? !queue.outsider : alive_.count(node) == 0;
}

std::string_view Membership::PlaceOf(const QueueRow& queue) const {
  const auto pinned = std::find(homes_.begin(), homes_.end(), queue.pinned);
  return pinned != homes_.end() ? std::string_view(*pinned) : HomeOf(queue.name, homes_);
}

Membership::Decisions Membership::Decide(Instant now, const std::set<std::string, std::less<>>& held) {
  Decisions decisions;
  if (!MayAnswer(now) || alive_.count(incarnation_) == 0) return decisions;
  for (const NodeRow& node : nodes_) {
    const auto seen = seen_.find(node.incarnation);
    if (seen == seen_.end() || now - seen->second.since < timing_.dead_after) continue;
    decisions.dead.push_back({node.name, node.incarnation, seen->second.beat});
  }
  bool may_settle = now - settled_ >= timing_.settle && now - moved_ >= timing_.between_moves;
  for (const QueueRow& queue : queues_) {
    const bool mine = NodeOf(queue.incarnation) == incarnation_;
    const bool here = held.count(queue.name) != 0;
    const std::string_view place = PlaceOf(queue);
    // One that is this node's, and that it does not have: its end was not heard of.
    if (!here && (mine || (IsFree(queue) && place == name_))) decisions.takes.push_back(queue);
    if (!here || !mine || place == name_ || place.empty()) continue;
    if (!draining_ && queue.pinned != place) {
      if (!may_settle) continue;
      may_settle = false;
      moved_ = now;
    }
    decisions.moves.push_back(queue.name);
  }
  return decisions;
}

}  // namespace allot::cluster

// SPDX-License-Identifier: Apache-2.0
#include "server/queue/worker_news.h"

#include <algorithm>
#include <exception>
#include <iterator>

namespace allot {

bool WorkerNews::Join(WorkerNews& next) {
  if (error || close || !grants.empty() || next.ack || next.error || next.set || next.close) return false;
  answers += next.answers;
  stale.insert(stale.end(), next.stale.begin(), next.stale.end());
  std::move(next.stop_requests.begin(), next.stop_requests.end(), std::back_inserter(stop_requests));
  grants = std::move(next.grants);
  headers = std::move(next.headers);
  drain = drain || next.drain;
  return true;
}

void NewsBox::Add(const WorkerLinkPtr& link, WorkerNews news) {
  if (link->last_ != WorkerLink::kNone && news_[link->last_].news.Join(news)) return;
  link->last_ = news_.size();
  news_.push_back({link, std::move(news)});
}

void NewsBox::MoveTo(Outbox& outbox) {
  if (news_.empty()) return;
  for (const ForOne& one : news_) one.link->last_ = WorkerLink::kNone;
  Outbox first;
  while (!news_.empty()) {
    Executor* const executor = &news_.front().link->executor();
    const auto others = std::stable_partition(
        news_.begin(), news_.end(), [executor](const ForOne& one) { return &one.link->executor() == executor; });
    std::vector<ForOne> rest(std::make_move_iterator(others), std::make_move_iterator(news_.end()));
    news_.erase(others, news_.end());
    first.push_back({executor, [news = std::move(news_)]() mutable { Deliver(news); }});
    news_ = std::move(rest);
  }
  outbox.insert(outbox.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
}

void NewsBox::Deliver(std::vector<ForOne>& news) {
  // Each of them, whatever the others throw.
  std::exception_ptr thrown;
  for (ForOne& one : news) {
    try {
      one.link->Deliver(std::move(one.news));
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace allot

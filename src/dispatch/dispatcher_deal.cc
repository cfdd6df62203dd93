// SPDX-License-Identifier: Apache-2.0
// Whom what is open is promised to.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "dispatch/dispatcher.h"

namespace allot {

std::size_t Dispatcher::FindCandidates(ClassId cls) {
  candidates_.clear();
  std::size_t workers = 0;
  const auto mask = classes_.kinds().Mask(cls);
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const auto kind = static_cast<KindId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      if (kind >= kinds_.size() || kinds_[kind].members.empty()) continue;
      candidates_.push_back(kind);
      workers += kinds_[kind].members.size();
    }
  }
  return workers;
}

std::vector<WorkerQueue*> Dispatcher::AllCandidates(std::size_t workers) const {
  std::vector<WorkerQueue*> all;
  all.reserve(workers);
  for (const KindId kind : candidates_) {
    all.insert(all.end(), kinds_[kind].members.begin(), kinds_[kind].members.end());
  }
  return all;
}

void Dispatcher::Want(ClassId cls) {
  if (std::exchange(by_class_[cls].wanted, true)) return;
  wanted_.push_back(cls);
}

void Dispatcher::WantAll(KindId kind) {
  for (const ClassId cls : open_classes_) {
    if (classes_.kinds().Matches(kind, cls)) Want(cls);
  }
}

void Dispatcher::Deal(JobPromises& of_job, std::size_t& budget) {
  if (of_job.open == 0) return;
  const ClassId cls = of_job.job->cls;
  if (budget == 0) {
    List(of_job);
    return Want(cls);
  }
  const std::size_t workers = FindCandidates(cls);
  budget -= std::min<std::size_t>(budget, 1 + candidates_.size() / 32 + std::min<std::size_t>(workers, of_job.open));
  if (workers == 0) return List(of_job);
  Unlist(of_job);
  switch (options_.balance) {
    case Balance::kLeastQueue:
      return DealLevel(of_job, workers);
    case Balance::kRoundRobin:
      return DealRound(of_job, workers);
    case Balance::kRandom:
      return DealRandom(of_job, workers);
  }
}

LevelPlace Dispatcher::PlaceFor(const WorkerQueue& queue, ClassId cls) const {
  LevelPlace place = queue.place;
  if (classes_.HasJobRank(cls)) place.unwanted = -classes_.kinds().Of(queue.kind, cls).job_rank;
  return place;
}

void Dispatcher::DealLevel(JobPromises& of_job, std::size_t workers) {
  const ClassId cls = of_job.job->cls;
  // One by one, where that is less than a look at all of them.
  const bool few = of_job.open * 4 * (1 + candidates_.size() / 8) < workers;
  if (few || workers == 1) {
    const std::uint32_t at_once = workers == 1 ? of_job.open : 1;
    while (of_job.open > 0) {
      WorkerQueue* least = nullptr;
      for (const KindId kind : candidates_) {
        WorkerQueue& first = *kinds_[kind].by_load.begin();
        if (least == nullptr || PlaceFor(first, cls) < PlaceFor(*least, cls)) least = &first;
      }
      Give(of_job, *least, at_once);
      Relink(*least);
    }
    return;
  }
  std::vector<std::pair<LevelPlace, WorkerQueue*>> queues;
  queues.reserve(workers);
  for (const KindId kind : candidates_) {
    for (WorkerQueue& queue : kinds_[kind].by_load) queues.emplace_back(PlaceFor(queue, cls), &queue);
  }
  if (candidates_.size() > 1) {
    std::sort(queues.begin(), queues.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::vector<LevelPlace> places;
  places.reserve(workers);
  for (const auto& [place, queue] : queues) places.push_back(place);
  const std::vector<std::uint32_t> given = Level(places, of_job.open);
  of_job.Reserve(std::min<std::size_t>(workers, of_job.open));
  std::vector<WorkerQueue*> changed;
  changed.reserve(workers);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (given[i] == 0) continue;
    Give(of_job, *queues[i].second, given[i]);
    changed.push_back(queues[i].second);
  }
  RelinkAll(changed);
}

void Dispatcher::Touch(WorkerQueue& queue) {
  auto& ring = kinds_[queue.kind].ring;
  ring.erase(ring.iterator_to(queue));
  queue.sequence = next_sequence_++;
  ring.insert(ring.end(), queue);
}

void Dispatcher::DealRound(JobPromises& of_job, std::size_t workers) {
  const auto each = static_cast<std::uint32_t>(of_job.open / workers),
             rest = static_cast<std::uint32_t>(of_job.open % workers);
  if (each > 0 || rest * (1 + candidates_.size() / 8) >= workers) {
    std::vector<WorkerQueue*> queues = AllCandidates(workers);
    std::sort(queues.begin(), queues.end(),
              [](const WorkerQueue* a, const WorkerQueue* b) { return a->sequence < b->sequence; });
    of_job.Reserve(std::min<std::size_t>(workers, of_job.open));
    const auto deal = [&](std::size_t times, std::uint32_t tasks) {
      for (std::size_t i = 0; i < times; ++i) {
        Give(of_job, *queues[i], tasks);
        Touch(*queues[i]);
      }
    };
    // Whole rounds first: then all stand as they stood.
    if (each > 0) deal(workers, each);
    deal(rest, 1);
    return RelinkAll(queues);
  }
  while (of_job.open > 0) {
    WorkerQueue* next = nullptr;
    for (const KindId kind : candidates_) {
      WorkerQueue& first = *kinds_[kind].ring.begin();
      if (next == nullptr || first.sequence < next->sequence) next = &first;
    }
    Give(of_job, *next, 1);
    Touch(*next);
    Relink(*next);
  }
}

void Dispatcher::DealRandom(JobPromises& of_job, std::size_t workers) {
  const auto draw = [&]() -> WorkerQueue& {
    std::uint64_t at = rng_.Below(workers);
    for (const KindId kind : candidates_) {
      if (at < kinds_[kind].members.size()) return *kinds_[kind].members[at];
      at -= kinds_[kind].members.size();
    }
    CHECK(false);
    return *kinds_[candidates_.front()].members.front();
  };
  if (std::uint64_t{of_job.open} * 4 < workers) {
    while (of_job.open > 0) {
      WorkerQueue& queue = draw();
      Give(of_job, queue, 1);
      Relink(queue);
    }
    return;
  }
  const std::vector<WorkerQueue*> queues = AllCandidates(workers);
  std::vector<std::uint32_t> given(workers);
  // By chance they would come out about as even as the root of their number. So only the last few times that are drawn,
  // in portions if it is a great many.
  constexpr std::size_t kMostDraws = 64;  // for each worker
  const auto mean = static_cast<double>(of_job.open) / static_cast<double>(workers);
  const auto sure = static_cast<std::uint32_t>(std::max(0.0, mean - 2 * std::sqrt(mean)));
  std::fill(given.begin(), given.end(), sure);
  const std::uint64_t rest = of_job.open - std::uint64_t{sure} * workers;
  const std::uint64_t draws = std::min<std::uint64_t>(rest, workers * kMostDraws);
  for (std::uint64_t i = 0; i < draws; ++i) {
    given[rng_.Below(workers)] += static_cast<std::uint32_t>(rest / draws + (i < rest % draws ? 1 : 0));
  }
  of_job.Reserve(std::min<std::size_t>(workers, of_job.open));
  std::vector<WorkerQueue*> changed;
  for (std::size_t i = 0; i < workers; ++i) {
    if (given[i] == 0) continue;
    Give(of_job, *queues[i], given[i]);
    changed.push_back(queues[i]);
  }
  RelinkAll(changed);
}

}  // namespace allot

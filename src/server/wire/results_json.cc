// SPDX-License-Identifier: Apache-2.0
#include "server/wire/results_json.h"

#include <utility>

#include "base/try.h"
#include "server/wire/reply_json.h"

namespace allot {

Result<OutcomePage> ReadOutcomePage(Store& store, JobId job, TaskIndex from, std::uint64_t end, std::size_t max_bytes) {
  OutcomePage page;
  page.end = end;
  std::size_t bytes = 0;
  Store::OutcomeQuery query;
  query.job = job;
  query.from = from;
  query.end = end;
  query.max_bytes = max_bytes;
  for (;;) {
    TRY(std::vector<Outcome> read, store.ReadOutcomes(query));
    if (read.empty()) return page;
    for (Outcome& outcome : read) {
      bytes += outcome.text.size();
      page.outcomes.push_back(std::move(outcome));
    }
    const std::uint64_t next = static_cast<std::uint64_t>(page.outcomes.back().index) + 1;
    if (next >= end) return page;
    if (bytes >= max_bytes) {
      page.end = next;
      return page;
    }
    query.from = static_cast<TaskIndex>(next);
  }
}

Result<std::vector<Outcome>> ReadOutcomesOf(Store& store, JobId job, std::span<const TaskIndex> tasks) {
  std::vector<Outcome> outcomes;
  if (tasks.empty()) return outcomes;
  const TaskIndex from = tasks.front();
  const std::uint64_t end = static_cast<std::uint64_t>(tasks.back()) + 1;
  // Tasks of one state may lie far apart: then each is looked up on its own.
  const bool dense = end - from <= 4 * tasks.size();
  for (std::size_t i = 0; i < (dense ? 1 : tasks.size()); ++i) {
    const TaskIndex own = tasks[i];
    TRY(OutcomePage found, dense ? ReadOutcomePage(store, job, from, end)
                                 : ReadOutcomePage(store, job, own, static_cast<std::uint64_t>(own) + 1));
    for (Outcome& outcome : found.outcomes) outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Result<std::size_t> AppendResultItems(Store& store, JobId job, std::span<const EndedTask> tasks, std::size_t max_bytes,
                                      std::string& out) {
  constexpr std::size_t kReadAtOnce = 64;
  const std::size_t begin = out.size();
  std::size_t i = 0;
  while (i < tasks.size() && (i == 0 || out.size() - begin < max_bytes)) {
    // Neighbours are read in one go; they mostly end at about the same time.
    std::size_t j = i + 1;
    while (j < tasks.size() && j - i < kReadAtOnce && tasks[j].index > tasks[j - 1].index &&
           tasks[j].index - tasks[i].index < 4 * (j - i + 1)) {
      ++j;
    }
    TRY(const OutcomePage& page,
        ReadOutcomePage(store, job, tasks[i].index, static_cast<std::uint64_t>(tasks[j - 1].index) + 1, max_bytes));
    auto outcome = page.outcomes.begin();
    for (; i < j && tasks[i].index < page.end; ++i) {
      while (outcome != page.outcomes.end() && outcome->index < tasks[i].index) ++outcome;
      const bool own = outcome != page.outcomes.end() && outcome->index == tasks[i].index;
      if (out.size() > begin) out.push_back(',');
      AppendResultItem(tasks[i], own ? &*outcome : nullptr, out);
    }
  }
  return i;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
// What is laid over the table: help, a job's explanation, a worker, the queues.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/text/explain.h"
#include "cli/text/worker_text.h"
#include "cli/top/render.h"

namespace allot::cli::top {
namespace {

constexpr const char* kHelp[] = {
    "1-5, Tab           jobs, workers, reasons, users, limits",
    "↑ ↓ j k            choose; PgUp PgDn Home End",
    "Enter, e           explain: why a job waits, what a worker does",
    "s, r               sort by the next column; the other way round",
    "/                  filter: state:active user:ann tag:gpu, and any words; empty: all",
    "+ -                older, newer: the next page, the page before",
    "p                  pause or resume the job",
    "c                  cancel the job (asks)",
    "C                  cancel all jobs that the filter finds (counts, and asks)",
    "d                  drain the worker (asks)",
    "P                  pause or resume the whole queue (asks)",
    "Q                  another queue",
    "t, space           freeze, and go on",
    "Escape             closes this; q ends the program",
    "",
    "Bars: █ done  ▓ failed  ▒ running  ░ queued or retrying  · skipped",
};

void AddLines(std::vector<std::string>& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void AddWorker(std::vector<std::string>& out, const allotter::WorkerInfo& worker, std::int64_t now_ms) {
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out.push_back(fmt::format("{:<13}{}", name, value));
  };
  add("worker", worker.id);
  add("name", worker.name);
  add("state", StateOf(worker));
  add("tags", Joined(worker.tags));
  add("slots", fmt::format("{} of {} in use", worker.running, worker.slots));
  add("wants", std::to_string(worker.credit));
  add("queue", PromisedText(worker));
  add("strategy", worker.strategy);
  add("requirements", worker.requirements);
  add("rank", worker.rank);
  add("user", worker.user);
  add("address", worker.address);
  add("here for", AgeText(worker.registered_at_ms, now_ms));
  std::string tasks;
  for (std::size_t i = 0; i < worker.tasks.size() && i < 20; ++i) {
    tasks += fmt::format("{}{}/{}", i == 0 ? "" : " ", worker.tasks[i].first, worker.tasks[i].second);
  }
  if (worker.tasks.size() > 20) tasks += fmt::format(" and {} more", worker.tasks.size() - 20);
  add("runs", tasks);
}

}  // namespace

std::vector<std::string> OverlayText(const Model& model) {
  std::vector<std::string> out;
  switch (model.overlay) {
    case Overlay::kNone:
      return out;
    case Overlay::kHelp:
      out.assign(std::begin(kHelp), std::end(kHelp));
      return out;
    case Overlay::kJob:
      if (model.explanation) {
        const auto& e = *model.explanation;
        // What people look for first comes first.
        out.push_back("verdict: " + e.verdict.message);
        if (!e.verdict.hint.empty()) out.push_back("hint: " + e.verdict.hint);
        out.push_back("");
        AddLines(out, ExplanationText(e, model.now_ms, Style{}));
      }
      break;
    case Overlay::kWorker:
      if (model.worker) AddWorker(out, *model.worker, model.now_ms);
      if (model.worker && model.next) {
        out.push_back("");
        AddLines(out, OutlookText(*model.next, Style{}));
      }
      break;
    case Overlay::kQueues:
      for (const allotter::Queue& queue : model.queues) {
        out.push_back(fmt::format("{} {:<24} {:>9} queued {:>9} running {:>9} retrying {:>6} workers{}",
                                  queue.name == model.overlay_id ? ">" : " ", queue.name,
                                  FormatCount(queue.tasks_queued), FormatCount(queue.tasks_running),
                                  FormatCount(queue.tasks_retrying), FormatCount(queue.workers),
                                  queue.paused ? "  paused" : ""));
      }
      break;
  }
  if (!model.overlay_error.empty()) out.push_back("error: " + model.overlay_error);
  if (out.empty()) out.push_back("…");
  return out;
}

}  // namespace allot::cli::top

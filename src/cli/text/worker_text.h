// SPDX-License-Identifier: Apache-2.0
// Workers for people: a list of them, and what one was promised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allotter/preview.h"
#include "allotter/types.h"
#include "cli/text/output.h"

namespace allot::cli {

// connected, polling, draining or away.
std::string StateOf(const allotter::WorkerInfo& worker);

// The list, page by page. Where dispatch is balanced a worker's queue is shown in place of what it wants. Addresses are
// left out, so that a line stays within 80 columns: `allot worker` has all.
class WorkerList {
 public:
  void Add(const allotter::WorkerInfo& worker, std::int64_t now_ms);
  std::string Text(Style style) const;

 private:
  struct Row {
    std::vector<std::string> cells;  // up to RUNNING
    std::string wants, queue, since;
  };
  std::vector<Row> rows_;
  bool balanced_ = false;
};

// `12 tasks of 3 jobs`; empty where dispatch is not balanced.
std::string PromisedText(const allotter::WorkerInfo& worker);
// The shares in its queue that were told, and how many more there are; empty for an empty queue.
std::string QueueText(const allotter::WorkerInfo& worker, Style style);

// What it would get next and why, and why not the others.
std::string OutlookText(const allotter::WorkerOutlook& outlook, Style style);

}  // namespace allot::cli

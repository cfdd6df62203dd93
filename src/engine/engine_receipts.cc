// How starts were decided.
#include <algorithm>

#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/receipt_log.h"

namespace allot {

void Engine::NoteStart(const EngineWorker& worker, const EngineJob& job, const Lease& lease, TakenFrom from,
                       std::size_t limits_met) {
  const StrategyIndex& index = orders_.index(worker.Pulls());
  ReceiptLog& log = *receipts_;
  const ReceiptLog::Common& common = log.common();
  bool begun = common.worker == worker.id.value && common.version == orders_.open_classes().version() &&
               common.strategies == index.strategies().get() && common.held_by_limits == limits_.blocked();
  for (;; begun = false) {
    if (!begun) BeginStarts(worker, index);
    const TracedPick pick{index.rules(), *dispatcher_->leaf(), job,
                          common.kind,   common.ranked,        dispatcher_->drawn_of()};
    if (log.Add(job, lease, from, limits_met, pick)) return;
    log.NewPiece();
  }
}

void Engine::BeginStarts(const EngineWorker& worker, const StrategyIndex& index) {
  OpenClasses& open = orders_.open_classes();
  ReceiptLog::Common common;
  common.worker = worker.id.value;
  common.kind = classes_.KindOf(worker.handle);
  const OpenClasses::Seen& seen = open.By(common.kind);
  common.version = open.version();
  common.strategies = index.strategies().get();
  common.classes_open = open.count();
  common.classes_matched = seen.matched;
  common.ranked = seen.ranked;
  common.held_by_limits = static_cast<std::uint32_t>(limits_.blocked());
  common.mode = dispatcher_->options().mode;
  common.at = ToMillis(now_.wall);
  receipts_->Begin(common, index.strategies(), worker.name);
}

std::optional<Receipt> Engine::ReceiptOf(JobId job, TaskIndex index) const { return receipts_->Find(job, index); }

std::vector<Receipt> Engine::Receipts(std::optional<std::uint64_t> before, std::size_t limit,
                                      std::optional<std::string_view> user) const {
  return receipts_->List(before, limit, user);
}

}  // namespace allot

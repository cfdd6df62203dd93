// SPDX-License-Identifier: Apache-2.0
#include "client/preview_codec.h"

#include "base/json.h"
#include "client/decision_fields.h"
#include "client/fields.h"
#include "wire/writer.h"

namespace allotter {
namespace json_in {

template <>
struct FieldsOf<StrategyPreview::Pick> {
  static constexpr auto kRows = RowsOf<StrategyPreview::Pick, wire::kPick>(
      In<&StrategyPreview::Pick::job>("job"), In<&StrategyPreview::Pick::index>("index"),
      In<&StrategyPreview::Pick::random>("random"), In<&StrategyPreview::Pick::user>("user"),
      In<&StrategyPreview::Pick::tags>("tags"), In<&StrategyPreview::Pick::why>("why"));
};

constexpr auto kBlockedOfPreview = RowsOf<StrategyPreview, wire::kBlockedByLimits>(
    In<&StrategyPreview::blocked_jobs>("jobs"), In<&StrategyPreview::blocked_tasks>("tasks"),
    InOrEmpty<&StrategyPreview::blocked_job>("job"));
template <>
struct FieldsOf<StrategyPreview> {
  static constexpr auto kRows = RowsOf<StrategyPreview, wire::kStrategyTry>(
      In<&StrategyPreview::strategy>("strategy"), In<&StrategyPreview::policy>("policy"),
      In<&StrategyPreview::paused>("paused"), In<&StrategyPreview::draining>("draining"),
      In<&StrategyPreview::complete>("complete"), In<&StrategyPreview::jobs_looked_at>("jobs_looked_at"),
      In<&StrategyPreview::may_run>("may_run"), In<&StrategyPreview::queued_tasks>("queued_tasks"),
      In<&StrategyPreview::took_ms>("took_ms"), Inside<StrategyPreview, kBlockedOfPreview>("blocked"),
      In<&StrategyPreview::limited>("limited"), In<&StrategyPreview::picks>("picks"));
};

template <>
struct FieldsOf<WorkerOutlook::Other> {
  static constexpr auto kRows = RowsOf<WorkerOutlook::Other, wire::kOthers>(
      In<&WorkerOutlook::Other::stage>("stage"), In<&WorkerOutlook::Other::classes>("classes"),
      In<&WorkerOutlook::Other::tasks>("tasks"), InOrEmpty<&WorkerOutlook::Other::job>("job"),
      In<&WorkerOutlook::Other::message>("message"));
};

template <>
struct FieldsOf<WorkerOutlook> {
  static constexpr auto kRows = RowsOf<WorkerOutlook, wire::kWorkerNext>(
      In<&WorkerOutlook::worker>("worker"), In<&WorkerOutlook::name>("name"), In<&WorkerOutlook::verdict>("verdict"),
      In<&WorkerOutlook::next, &StrategyPreview::strategy>("strategy"),
      In<&WorkerOutlook::next, &StrategyPreview::policy>("policy"),
      In<&WorkerOutlook::next, &StrategyPreview::complete>("complete"),
      In<&WorkerOutlook::next, &StrategyPreview::picks>("picks"), In<&WorkerOutlook::others>("others"));
};

}  // namespace json_in

void AppendTry(const StrategyTry& what, std::string& out) {
  allot::JsonWriter json(out);
  allot::wire::Writer<allot::wire::kTry> w(json);
  w.Text("strategy", what.strategy);
  if (!what.policy.empty()) w.Text("policy", what.policy);
  if (!what.worker.empty()) w.Text("worker", what.worker);
  if (what.like) {
    std::string like;
    AppendWorkerChange(*what.like, like);
    w.Raw("worker", like);
  }
  w.Count("count", what.count);
}

template Result<StrategyPreview> Parse<StrategyPreview>(const std::string& json);
template Result<WorkerOutlook> Parse<WorkerOutlook>(const std::string& json);

}  // namespace allotter

// SPDX-License-Identifier: Apache-2.0
#include "server/wire/receipt_json.h"

#include <limits>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "server/wire/preview_json.h"
#include "server/wire/request_query.h"
#include "wire/decisions.h"
#include "wire/writer.h"

namespace allot {
namespace {

std::string_view FromWords(TakenFrom from) {
  switch (from) {
    case TakenFrom::kShared:
      return "from the order that all workers share";
    case TakenFrom::kOwn:
      return "from the worker's own queue";
    case TakenFrom::kOpen:
      return "from what was in no worker's queue yet";
    case TakenFrom::kAnother:
      return "from another worker's queue, since its own had nothing";
  }
  return "";
}

std::string MatchWords(const Receipt& receipt) {
  return fmt::format("{} of {} way{} of matching {} for this worker", FormatCount(receipt.classes_matched),
                     FormatCount(receipt.classes_open), receipt.classes_open == 1 ? "" : "s",
                     receipt.classes_matched == 1 ? "is" : "are");
}

std::string LimitWords(const Receipt& receipt) {
  const std::string blocked =
      receipt.blocked_by_limits == 0
          ? "limits blocked nothing"
          : fmt::format("{} group{} of jobs {} blocked by limits", FormatCount(receipt.blocked_by_limits),
                        receipt.blocked_by_limits == 1 ? "" : "s", receipt.blocked_by_limits == 1 ? "was" : "were");
  return receipt.limits_met == 0 ? blocked + "; none applied"
                                 : fmt::format("{}; {} limit{} applied and paid", blocked, receipt.limits_met,
                                               receipt.limits_met == 1 ? "" : "s");
}

}  // namespace

Result<ReceiptsQuery> ParseReceiptsQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"before", "limit"};
  static_assert(wire::SameNames(wire::kReceiptsQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  ReceiptsQuery out;
  TRY(out.before, query.Number("before", 0, std::numeric_limits<std::int64_t>::max()));
  const auto limit = query.Number("limit", 1, bounds::kMaxPageItems);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendReceipt(const Receipt& receipt, bool all, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kReceipt> w(json);
  w.Count("serial", receipt.serial);
  w.Id("job", receipt.job.value);
  w.Count("index", receipt.index);
  w.Count("attempt", receipt.attempt);
  w.Id("worker", receipt.worker.value);
  w.Text("worker_name", receipt.worker_name);
  w.Text("user", receipt.user);
  w.Int("at_ms", ToMillis(receipt.at));
  w.Int("waited_ms", receipt.waited.count());
  if (all) {
    w.Value("stages").BeginArray();
    {
      wire::Writer<wire::kReceiptStage> match(json);
      match.Text("stage", "match");
      match.Count("open", receipt.classes_open);
      match.Count("passed", receipt.classes_matched);
      match.Text("text", MatchWords(receipt));
    }
    {
      wire::Writer<wire::kReceiptStage> limits(json);
      limits.Text("stage", "limits");
      limits.Count("blocked", receipt.blocked_by_limits);
      limits.Count("met", receipt.limits_met);
      limits.Text("text", LimitWords(receipt));
    }
    {
      wire::Writer<wire::kReceiptStage> dispatch(json);
      dispatch.Text("stage", "dispatch");
      dispatch.Text("mode", Text(receipt.mode));
      dispatch.Text("from", TakenFromText(receipt.from));
      dispatch.Text("text", FromWords(receipt.from));
    }
    json.EndArray();
  }
  w.Text("strategy", receipt.strategy);
  if (all) {
    w.Text("policy", receipt.policy);
    AppendWhy(receipt.why, w.Value("why"));
  }
}

}  // namespace allot

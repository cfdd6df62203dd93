#include "server/wire/receipt_json.h"

#include <limits>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "server/wire/preview_json.h"
#include "server/wire/request_query.h"

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
  const std::string held =
      receipt.blocked_by_limits == 0
          ? "limits held nothing back"
          : fmt::format("{} group{} of jobs {} held back by limits", FormatCount(receipt.blocked_by_limits),
                        receipt.blocked_by_limits == 1 ? "" : "s", receipt.blocked_by_limits == 1 ? "was" : "were");
  return receipt.limits_met == 0 ? held + "; none applied"
                                 : fmt::format("{}; {} limit{} applied and paid", held, receipt.limits_met,
                                               receipt.limits_met == 1 ? "" : "s");
}

}  // namespace

Result<ReceiptsQuery> ParseReceiptsQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"before", "limit"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  ReceiptsQuery out;
  const auto before = query->Number("before", 0, std::numeric_limits<std::int64_t>::max());
  if (!before.ok()) return before.error();
  out.before = *before;
  const auto limit = query->Number("limit", 1, bounds::kMaxPageItems);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendReceipt(const Receipt& receipt, bool all, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("serial").Uint(receipt.serial);
  w.Key("job").Id(receipt.job.value).Key("index").Uint(receipt.index).Key("attempt").Uint(receipt.attempt);
  w.Key("worker").Id(receipt.worker.value).Key("worker_name").String(receipt.worker_name);
  w.Key("user").String(receipt.user);
  w.Key("at_ms").Int(ToMillis(receipt.at)).Key("waited_ms").Int(receipt.waited.count());
  if (all) {
    w.Key("stages").BeginArray();
    w.BeginObject().Key("stage").String("match");
    w.Key("open").Uint(receipt.classes_open).Key("passed").Uint(receipt.classes_matched);
    w.Key("text").String(MatchWords(receipt)).EndObject();
    w.BeginObject().Key("stage").String("limits");
    w.Key("held").Uint(receipt.blocked_by_limits).Key("met").Uint(receipt.limits_met);
    w.Key("text").String(LimitWords(receipt)).EndObject();
    w.BeginObject().Key("stage").String("dispatch");
    w.Key("mode").String(Text(receipt.mode)).Key("from").String(TakenFromText(receipt.from));
    w.Key("text").String(FromWords(receipt.from)).EndObject();
    w.EndArray();
  }
  w.Key("strategy").String(receipt.strategy);
  if (all) {
    w.Key("policy").String(receipt.policy);
    AppendWhy(receipt.why, w);
  }
  w.EndObject();
}

}  // namespace allot

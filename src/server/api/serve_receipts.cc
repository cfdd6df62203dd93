// /v1/queues/Q/receipts and /v1/queues/Q/jobs/ID/tasks/INDEX/receipt: how starts were decided.
#include <charconv>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/receipts.h"
#include "server/net/call.h"
#include "server/wire/receipt_json.h"
#include "server/wire/request_query.h"
#include "wire/decisions.h"
#include "wire/writer.h"

namespace allot {

void ListReceipts(Call call) {
  const Result<ReceiptsQuery> query = ParseReceiptsQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  BrowseEngine(std::move(call), [query = *query](Round& round, Call c) {
    const std::optional<std::string>& user = c.principal().user;
    // One more than asked for tells whether there are more.
    std::vector<Receipt> receipts = round.engine.looks().Receipts(
        query.before, query.limit + 1, user ? std::optional<std::string_view>(*user) : std::nullopt);
    std::optional<std::uint64_t> next;
    if (receipts.size() > query.limit) {
      receipts.pop_back();
      next = receipts.back().serial;
    }
    // What is not durable yet, while the disk is full, has not happened.
    std::erase_if(receipts, [&](const Receipt& receipt) { return !round.MayList(receipt.job); });
    for (const Receipt& receipt : receipts) round.DependsOn(receipt.job);
    AnswerApart(round, std::move(c), [receipts = std::move(receipts), next](const Call& done, std::string& out) {
      JsonWriter json(out);
      wire::Writer<wire::kReceiptsPage> w(json);
      w.List("receipts", receipts,
             [&](const Receipt& receipt, std::string& to) { AppendReceipt(receipt, !done.principal().user, to); });
      w.Count("next", next);
    });
  });
}

void ShowReceipt(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const std::string& text = call.part("index");
  TaskIndex index = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (ec != std::errc() || end != text.data() + text.size()) {
    return call.Fail({Code::kUnknownTask, "there is no task " + text.substr(0, 100), "an index is a number from 0 on"});
  }
  AskEngine(std::move(call), [name = *name, index](Round& round, Call c) {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    const Result<TaskView> task = round.engine.looks().Task(job->id, index);
    if (!task.ok()) return AnswerError(round, std::move(c), task.error());
    std::optional<Receipt> receipt = round.engine.looks().ReceiptOf(job->id, index);
    if (!receipt) {
      return AnswerError(round, std::move(c),
                         {Code::kUnknownReceipt, "there is no receipt for a start of this task",
                          "it was not started since the server's start, or is not among the last 10,000"});
    }
    Answer(round, std::move(c), 200, [receipt = std::move(*receipt)](Call& done, std::string& out) {
      AppendReceipt(receipt, !done.principal().user, out);
    });
  });
}

}  // namespace allot

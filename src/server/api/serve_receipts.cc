// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/receipts and /v1/queues/Q/jobs/ID/tasks/INDEX/receipt: how starts were decided.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/receipts.h"
#include "server/flow/places.h"
#include "server/wire/receipt_json.h"
#include "server/wire/request_query.h"
#include "wire/decisions.h"
#include "wire/writer.h"

namespace allot {

Flow ListReceipts(Call call) {
  CO_TRY(const ReceiptsQuery query, ParseReceiptsQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  const std::optional<std::string>& user = call.principal().user;
  std::optional<std::string_view> of_user;
  if (user) of_user = *user;
  // One more than asked for tells whether there are more.
  std::vector<Receipt> receipts = round->engine.looks().Receipts(query.before, query.limit + 1, of_user);
  std::optional<std::uint64_t> next;
  if (receipts.size() > query.limit) {
    receipts.pop_back();
    next = receipts.back().serial;
  }
  // What is not durable yet, while the disk is full, has not happened.
  std::erase_if(receipts, [&](const Receipt& receipt) { return !round->MayList(receipt.job); });
  for (const Receipt& receipt : receipts) round->DependsOn(receipt.job);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kReceiptsPage> w(json);
    w.List("receipts", receipts, [&](const Receipt& receipt, std::string& to) { AppendReceipt(receipt, !user, to); });
    w.Count("next", next);
  }
  co_return Answer(200, std::move(out));
}

Flow ShowReceipt(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(const TaskIndex index, ParseTaskIndex(call.part("index")));
  RoundHere round = co_await Look(call);
  CO_TRY(const JobId job, FindTask(*round, call, name, index));
  const std::optional<Receipt> receipt = round->engine.looks().ReceiptOf(job, index);
  if (!receipt) {
    co_return Error{Code::kUnknownReceipt, "there is no receipt for a start of this task",
                    "it was not started since the server's start, or is not among the last 10,000"};
  }
  co_await AfterCommit(round);
  std::string out;
  AppendReceipt(*receipt, !call.principal().user, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot

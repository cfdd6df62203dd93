// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/limits…: limits on starts. They live in memory: nothing here waits for the disk, but while it is full
// the engine stands still, and so they cannot be changed.
#include <openssl/rand.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "engine/looks/limit_trial.h"
#include "server/api/overview_json.h"
#include "server/api/stepped_walk.h"
#include "server/ops/log.h"
#include "server/wire/limit_json.h"
#include "server/wire/request_query.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

// Random, in the form of a version 4.
Result<std::string> NewUuid() {
  unsigned char b[16];
  if (RAND_bytes(b, sizeof b) != 1) return Error{Code::kInternal, "no random bytes to be had", ""};
  b[6] = static_cast<unsigned char>((b[6] & 0x0F) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3F) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < sizeof b; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    fmt::format_to(std::back_inserter(out), "{:02x}", b[i]);
  }
  return out;
}

// Expressions, names and who was blocked tell of everyone.
Result<void> MayRead(const Call& call) {
  if (!call.principal().user) return {};
  return Error{Code::kForbidden, "limits tell of all users' jobs, this token only of its own's",
               "use a token that is not fixed to a user; explain names the limits on a job of its own"};
}

Error NoLimit(const std::string& uuid) {
  return {Code::kUnknownLimit, "there is no limit " + uuid.substr(0, 100), "it may have expired: set it anew"};
}

// What is logged as a change: one that is repeated, to keep it alive, is none.
enum class Change { kNone, kSet };

// The uuid goes into the log only once the engine has taken it.
Answer LeaseAnswer(const Call& call, int status, const LimitLease& lease, std::optional<bool> created, Change change) {
  if (change == Change::kSet) {
    Audit(call.principal(), "limit.set", call.queue->name() + "/" + lease.uuid, call.request.body);
  }
  std::string out;
  AppendLease(lease, created, out);
  return Answer(status, std::move(out));
}

// The limit with that uuid. kUnknownLimit.
Result<LimitView> FindLimit(Round& round, const std::string& uuid) {
  std::vector<LimitView> found = round.engine.looks().Limits(round.now, {std::nullopt, uuid});
  if (!found.empty()) return std::move(found.front());
  return NoLimit(uuid);
}

}  // namespace

// POST …/limits
Flow CreateLimit(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(const LimitSpec& spec, ParseLimit(call.request.body));
  CO_TRY(const std::string uuid, NewUuid());
  RoundHere round = co_await Look(call);
  CO_TRY_OK(RefuseNew(*round));
  CO_TRY(const LimitLease lease, round->engine.limits().Create(round->now, uuid, spec));
  call.queue->history().ExpectLimits();
  co_await AfterCommit(round);
  co_return LeaseAnswer(call, 201, lease, std::nullopt, Change::kSet);
}

// PUT …/limits/UUID
Flow PutLimit(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(const LimitSpec& spec, ParseLimit(call.request.body));
  const std::string& uuid = call.part("uuid");
  RoundHere round = co_await Look(call);
  CO_TRY_OK(RefuseNew(*round));
  const Result<LimitView> before = FindLimit(*round, uuid);
  Result<LimitLease> lease = round->engine.limits().Update(round->now, uuid, spec);
  // Also where its lease has ended just now.
  const bool created = !lease.ok() && lease.error().code == Code::kUnknownLimit;
  if (created) lease = round->engine.limits().Create(round->now, uuid, spec);
  if (!lease.ok()) co_return lease.error();
  call.queue->history().ExpectLimits();
  const bool same = !created && before.ok() && SameTerms(before->spec, spec);
  co_await AfterCommit(round);
  co_return LeaseAnswer(call, created ? 201 : 200, *lease, created, same ? Change::kNone : Change::kSet);
}

// POST …/limits/UUID/renew
Flow RenewLimit(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(const std::optional<Duration> expires, ParseLimitRenewal(call.request.body));
  RoundHere round = co_await Look(call);
  CO_TRY_OK(RefuseNew(*round));
  CO_TRY(const LimitLease lease, round->engine.limits().Renew(round->now, call.part("uuid"), expires));
  co_await AfterCommit(round);
  co_return LeaseAnswer(call, 200, lease, std::nullopt, Change::kNone);
}

// DELETE …/limits/UUID
Flow DeleteLimit(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY_OK(ParseEmptyBody(call.request.body));
  const std::string& uuid = call.part("uuid");
  RoundHere round = co_await Look(call);
  CO_TRY_OK(RefuseNew(*round));
  CO_TRY_OK(round->engine.limits().Delete(round->now, uuid));
  co_await AfterCommit(round);
  Audit(call.principal(), "limit.delete", call.queue->name() + "/" + uuid);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kDeleted>(json).Text("deleted", uuid);
  }
  co_return Answer(200, std::move(out));
}

// GET …/limits?tag=&uuid=
Flow ListLimits(Call call) {
  CO_TRY_OK(MayRead(call));
  CO_TRY(const LimitLooks::Filter filter, ParseLimitQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  const std::vector<LimitView> limits = round->engine.looks().Limits(round->now, filter);
  const Instant now = round->now.mono;
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  std::string out;
  AppendLimits(limits, now, out);
  co_return Answer(200, std::move(out));
}

// GET …/limits/UUID
Flow ShowLimit(Call call) {
  CO_TRY_OK(MayRead(call));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  RoundHere round = co_await Look(call);
  CO_TRY(const LimitView& limit, FindLimit(*round, call.part("uuid")));
  const Instant now = round->now.mono;
  co_await AfterCommit(round);
  std::string out;
  AppendLimit(limit, now, out);
  co_return Answer(200, std::move(out));
}

// GET …/limits/UUID/history
Flow ShowLimitHistory(Call call) {
  CO_TRY_OK(MayRead(call));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  RoundHere round = co_await Look(call);
  CO_TRY_OK(FindLimit(*round, call.part("uuid")));
  const QueueHistory::LimitSeries series = call.queue->history().Limit(call.part("uuid"));
  co_await AfterCommit(round);
  std::string out;
  AppendLimitHistory(series, out);
  co_return Answer(200, std::move(out));
}

// POST …/limits/try
Flow TryLimit(Call call) {
  CO_TRY_OK(MayRead(call));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(LimitQuestion question, ParseLimitTry(call.request.body));
  CO_TRY(const Admission::Entry place, Admit(call.server.limit_trials, call, "others are trying limits at the moment"));
  LimitTrial trial(std::move(question.expr), std::move(question.cost));
  CO_TRY(const Duration took, co_await WalkToAnswer(call, trial, kLookAround));
  std::string out;
  AppendTrial(trial, took, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot

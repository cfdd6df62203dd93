// /v1/queues/Q/limits…: limits on starts. They live in memory: nothing here waits for the disk, but while it is full
// the engine stands still, and so they cannot be changed.
#include <openssl/rand.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "engine/looks/limit_trial.h"
#include "server/api/overview_json.h"
#include "server/api/stepped_walk.h"
#include "server/net/call.h"
#include "server/ops/log.h"
#include "server/wire/limit_json.h"
#include "server/wire/request_query.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

constexpr WalkBounds kTrialBounds{.most_at_once = 2, .busy = "others are trying limits at the moment"};

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

// Expressions, names and who was held back tell of everyone.
Result<void> MayRead(const Call& call) {
  if (!call.principal().user) return {};
  return Error{Code::kForbidden, "limits tell of all users' jobs, this token only of its own's",
               "use a token that is not fixed to a user; explain names the limits on a job of its own"};
}

Error NoLimit(const std::string& uuid) {
  return {Code::kUnknownLimit, "there is no limit " + uuid.substr(0, 100), "it may have expired: set it anew"};
}

// The uuid goes into the log only once the engine has taken it.
void AnswerLease(Round& round, Call call, int status, LimitLease lease, std::optional<bool> created, bool audit) {
  Return(round, std::move(call), [lease = std::move(lease), status, created, audit](Call done) {
    if (audit) Audit(done.principal(), "limit.set", done.queue->name() + "/" + lease.uuid, done.request.body);
    std::string out;
    AppendLease(lease, created, out);
    done.reply.Send(status, out);
  });
}

}  // namespace

// POST …/limits
void CreateLimit(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<LimitSpec> spec = ParseLimit(call.request.body);
  if (!spec.ok()) return call.Fail(spec.error());
  Result<std::string> uuid = NewUuid();
  if (!uuid.ok()) return call.Fail(uuid.error());
  AskEngine(std::move(call), [spec = std::move(*spec), uuid = std::move(*uuid)](Round& round, Call c) {
    if (auto refused = RefuseNew(round)) return AnswerError(round, std::move(c), std::move(*refused));
    Result<LimitLease> lease = round.engine.limits().Create(round.now, uuid, spec);
    if (!lease.ok()) return AnswerError(round, std::move(c), lease.error());
    c.queue->history().ExpectLimits();
    AnswerLease(round, std::move(c), 201, std::move(*lease), std::nullopt, true);
  });
}

// PUT …/limits/UUID
void PutLimit(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<LimitSpec> spec = ParseLimit(call.request.body);
  if (!spec.ok()) return call.Fail(spec.error());
  AskEngine(std::move(call), [spec = std::move(*spec)](Round& round, Call c) {
    if (auto refused = RefuseNew(round)) return AnswerError(round, std::move(c), std::move(*refused));
    const std::string& uuid = c.part("uuid");
    const std::vector<LimitView> before = round.engine.looks().Limits(round.now, {std::nullopt, uuid});
    Result<LimitLease> lease = round.engine.limits().Update(round.now, uuid, spec);
    // Also where its lease has ended just now.
    const bool created = !lease.ok() && lease.error().code == Code::kUnknownLimit;
    if (created) lease = round.engine.limits().Create(round.now, uuid, spec);
    if (!lease.ok()) return AnswerError(round, std::move(c), lease.error());
    c.queue->history().ExpectLimits();
    // Repeating it, to keep it alive, is no change.
    const bool audit = created || before.empty() || !SameTerms(before.front().spec, spec);
    AnswerLease(round, std::move(c), created ? 201 : 200, std::move(*lease), created, audit);
  });
}

// POST …/limits/UUID/renew
void RenewLimit(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  const Result<std::optional<Duration>> expires = ParseLimitRenewal(call.request.body);
  if (!expires.ok()) return call.Fail(expires.error());
  AskEngine(std::move(call), [expires = *expires](Round& round, Call c) {
    if (auto refused = RefuseNew(round)) return AnswerError(round, std::move(c), std::move(*refused));
    Result<LimitLease> lease = round.engine.limits().Renew(round.now, c.part("uuid"), expires);
    if (!lease.ok()) return AnswerError(round, std::move(c), lease.error());
    AnswerLease(round, std::move(c), 200, std::move(*lease), std::nullopt, false);
  });
}

// DELETE …/limits/UUID
void DeleteLimit(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  const Result<void> empty = ParseEmptyBody(call.request.body);
  if (!empty.ok()) return call.Fail(empty.error());
  AskEngine(std::move(call), [](Round& round, Call c) {
    if (auto refused = RefuseNew(round)) return AnswerError(round, std::move(c), std::move(*refused));
    const Result<void> deleted = round.engine.limits().Delete(round.now, c.part("uuid"));
    if (!deleted.ok()) return AnswerError(round, std::move(c), deleted.error());
    Return(round, std::move(c), [](Call done) {
      const std::string& uuid = done.part("uuid");
      Audit(done.principal(), "limit.delete", done.queue->name() + "/" + uuid);
      std::string out;
      JsonWriter json(out);
      wire::Writer<wire::kDeleted>(json).Text("deleted", uuid);
      done.reply.Send(200, out);
    });
  });
}

// GET …/limits?tag=&uuid=
void ListLimits(Call call) {
  const Result<void> may = MayRead(call);
  if (!may.ok()) return call.Fail(may.error());
  Result<LimitLooks::Filter> filter = ParseLimitQuery(call.request.query);
  if (!filter.ok()) return call.Fail(filter.error());
  BrowseEngine(std::move(call), [filter = std::move(*filter)](Round& round, Call c) {
    AnswerApart(round, std::move(c),
                [limits = round.engine.looks().Limits(round.now, filter), now = round.now.mono](
                    const Call&, std::string& out) { AppendLimits(limits, now, out); });
  });
}

// GET …/limits/UUID
void ShowLimit(Call call) {
  const Result<void> may = MayRead(call);
  if (!may.ok()) return call.Fail(may.error());
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  AskEngine(std::move(call), [](Round& round, Call c) {
    std::vector<LimitView> found = round.engine.looks().Limits(round.now, {std::nullopt, c.part("uuid")});
    if (found.empty()) {
      Error error = NoLimit(c.part("uuid"));
      return AnswerError(round, std::move(c), std::move(error));
    }
    Answer(round, std::move(c), 200, [limit = std::move(found.front()), now = round.now.mono](Call&, std::string& out) {
      AppendLimit(limit, now, out);
    });
  });
}

// GET …/limits/UUID/history
void ShowLimitHistory(Call call) {
  const Result<void> may = MayRead(call);
  if (!may.ok()) return call.Fail(may.error());
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  AskEngine(std::move(call), [](Round& round, Call c) {
    const std::string& uuid = c.part("uuid");
    if (round.engine.looks().Limits(round.now, {std::nullopt, uuid}).empty()) {
      Error error = NoLimit(uuid);
      return AnswerError(round, std::move(c), std::move(error));
    }
    QueueHistory::LimitSeries series = c.queue->history().Limit(uuid);
    Answer(round, std::move(c), 200,
           [series = std::move(series)](Call&, std::string& out) { AppendLimitHistory(series, out); });
  });
}

// POST …/limits/try
void TryLimit(Call call) {
  const Result<void> may = MayRead(call);
  if (!may.ok()) return call.Fail(may.error());
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<LimitQuestion> question = ParseLimitTry(call.request.body);
  if (!question.ok()) return call.Fail(question.error());
  auto& under_way = call.server.limit_trials;
  WalkInSteps(std::move(call), under_way, kTrialBounds,
              std::make_unique<LimitTrial>(std::move(question->expr), std::move(question->cost)),
              [](const LimitTrial& trial, Duration took, std::string& out) { AppendTrial(trial, took, out); });
}

}  // namespace allot

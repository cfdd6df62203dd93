#include "server/explain_limits.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "server/limit_json.h"

namespace allot {
namespace {

// Of limits in the reasons; the list has them all.
constexpr std::size_t kMostReasons = 3;

std::string Number(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string NameOf(const LimitName& limit) {
  return limit.name.empty() ? fmt::format("`{}`", limit.tag) : fmt::format("`{}` ({})", limit.name, limit.tag);
}

bool HoldsBack(const LimitHold& hold) {
  return hold.limit.holds_back && !hold.limit.monitor && (!hold.limit.reads_worker || hold.workers_held > 0);
}

// Wherever it could run?
bool Everywhere(const LimitHold& hold, std::size_t matching) {
  return !hold.limit.reads_worker || hold.workers_held >= matching;
}

// Where it could run.
struct Places {
  std::size_t matching = 0;
  bool none_free = false;    // limits hold it back on all workers that have a free slot
  bool some_unheld = false;  // on some worker, busy or not, none does
};

SaidReason Say(const LimitHold& hold, const Places& places, Instant now) {
  const LimitStanding& limit = hold.limit;
  std::string where, elsewhere;
  if (!Everywhere(hold, places.matching)) {
    where = fmt::format(" on {} of the {} workers that may run it", FormatCount(hold.workers_held),
                        FormatCount(places.matching));
    if (places.none_free) elsewhere = "; no worker is free on which it may start";
  }
  SaidReason said{AdviceText(Advice::kWait), "limit", "", "allot limit show " + limit.limit.uuid};
  const std::string name = NameOf(limit.limit), cost = Number(limit.cost.number());
  if (limit.never) {
    if (!places.some_unheld) said.kind = AdviceText(Advice::kOperator);
    said.code = "limit_never";
    said.message = hold.stops
                       ? fmt::format("the limit {} stops it{}: its count is 0", name, where)
                       : fmt::format("the limit {} can never pay for it{}: a start costs {}, which it will never have",
                                     name, where, cost);
    said.message += elsewhere;
    return said;
  }
  said.message = fmt::format("the limit {} holds it back{}: its level is {}, a start costs {}", name, where,
                             Number(limit.tokens), cost);
  if (limit.payable_at) {
    const Duration wait = std::max(*limit.payable_at - now, Duration(0));
    said.message += fmt::format(", and it can pay in {}", FormatDuration(std::chrono::ceil<milliseconds>(wait)));
  }
  if (limit.overtaken) {
    said.code = "limit_overtaken";
    said.message += "; cheaper starts keep it waiting";
  }
  said.message += elsewhere;
  return said;
}

// What limits go before: it matters only once they let the job start.
bool AfterLimits(ReasonCode code) {
  return code == ReasonCode::kBackoff || code == ReasonCode::kWorkersAway || code == ReasonCode::kAllBusy ||
         code == ReasonCode::kCanStart;
}

}  // namespace

std::vector<SaidReason> SayReasons(const MatchSnapshot& snapshot, const std::vector<Reason>& reasons,
                                   const JobLimits& limits, std::size_t matching) {
  std::vector<const LimitHold*> held;
  if (!Ended(snapshot.state) && snapshot.ready + snapshot.waiting > 0) {
    for (const LimitHold& hold : limits.holds) {
      if (HoldsBack(hold)) held.push_back(&hold);
    }
  }
  // Everywhere before somewhere, where it could start at once before where it could not, never before at some time, and
  // the latest first.
  const auto before = [&](const LimitHold* a, const LimitHold* b) {
    const bool a_all = Everywhere(*a, matching), b_all = Everywhere(*b, matching);
    if (a_all != b_all) return a_all;
    if (!a_all && (a->free_held > 0) != (b->free_held > 0)) return a->free_held > 0;
    if (a->limit.never != b->limit.never) return a->limit.never;
    return a->limit.payable_at > b->limit.payable_at;
  };
  std::stable_sort(held.begin(), held.end(), before);
  const bool blocked = !held.empty() && Everywhere(*held.front(), matching);
  std::size_t on = 0;
  for (const LimitHold* hold : held) on += hold->workers_held;
  const bool none_free = !held.empty() && limits.free > 0 && limits.free_held >= limits.free;
  const Places places{matching, none_free, !blocked && on < matching};
  if (held.size() > kMostReasons) held.resize(kMostReasons);

  std::vector<SaidReason> said;
  const auto say_limits = [&] {
    for (const LimitHold* hold : held) said.push_back(Say(*hold, places, limits.now));
    held.clear();
  };
  for (const Reason& reason : reasons) {
    const bool can_start = reason.code == ReasonCode::kCanStart;
    if ((blocked && AfterLimits(reason.code)) || (none_free && can_start)) say_limits();
    if ((blocked || none_free) && can_start) continue;
    said.push_back({AdviceText(reason.advice), ReasonText(reason.code), reason.message, reason.hint});
  }
  say_limits();
  return said;
}

void AppendJobLimits(const JobLimits& limits, JsonWriter& w) {
  w.Key("limits").BeginArray();
  for (const LimitHold& hold : limits.holds) {
    const LimitStanding& limit = hold.limit;
    w.BeginObject();
    w.Key("uuid").String(limit.limit.uuid).Key("tag").String(limit.limit.tag).Key("name").String(limit.limit.name);
    w.Key("monitor").Bool(limit.monitor).Key("reads_worker").Bool(limit.reads_worker);
    AppendTokens(limit.tokens, w.Key("level"));
    AppendTokens(limit.cost.number(), w.Key("cost"));
    w.Key("holds_back").Bool(limit.holds_back).Key("never").Bool(limit.never).Key("stops").Bool(hold.stops);
    w.Key("overtaken").Bool(limit.overtaken);
    AppendFromNow(limit.payable_at, limits.now, w.Key("payable_in_ms"));
    w.Key("workers").Uint(hold.workers).Key("workers_held").Uint(hold.workers_held);
    w.EndObject();
  }
  w.EndArray();
}

}  // namespace allot

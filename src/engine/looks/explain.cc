// SPDX-License-Identifier: Apache-2.0
#include "engine/looks/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/looks/preview_walk.h"

namespace allot {
namespace {

// Of limits, and of ceilings, among the reasons; the lists beside them have all.
constexpr std::size_t kMostOfAKind = 3;

std::string Number(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string In(WallTime at, WallTime now) { return at > now ? "in " + FormatDuration(at - now) : std::string("now"); }

// --- Limits.

std::string NameOf(const LimitName& limit) {
  return limit.name.empty() ? fmt::format("`{}`", limit.tag) : fmt::format("`{}` ({})", limit.name, limit.tag);
}

bool Blocks(const LimitOnJob& on_job) {
  return on_job.limit.blocks && !on_job.limit.monitor && (!on_job.limit.reads_worker || on_job.workers_blocked > 0);
}

// Wherever it could run?
bool Everywhere(const LimitOnJob& on_job, std::size_t matching) {
  return !on_job.limit.reads_worker || on_job.workers_blocked >= matching;
}

// Where it could run.
struct Places {
  std::size_t matching = 0;
  bool none_free = false;       // limits block it on all workers that have a free slot
  bool some_unblocked = false;  // on some worker, busy or not, none does
};

Reason Say(const LimitOnJob& on_job, const Places& places, Instant now) {
  const LimitStatus& limit = on_job.limit;
  std::string where, elsewhere;
  if (!Everywhere(on_job, places.matching)) {
    where = fmt::format(" on {} of the {} workers that may run it", FormatCount(on_job.workers_blocked),
                        FormatCount(places.matching));
    if (places.none_free) elsewhere = "; no worker is free on which it may start";
  }
  Reason said{Advice::kWait, ReasonCode::kLimit, "", "allot limit show " + limit.limit.uuid};
  const std::string name = NameOf(limit.limit), cost = Number(limit.cost.number());
  if (limit.never) {
    if (!places.some_unblocked) said.advice = Advice::kOperator;
    said.code = ReasonCode::kLimitNever;
    said.message = on_job.stops
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
    said.code = ReasonCode::kLimitOvertaken;
    said.message += "; cheaper starts keep it waiting";
  }
  said.message += elsewhere;
  return said;
}

// What limits and the order go before: it matters only once they let the job start.
bool ComesAfter(ReasonCode code) {
  return code == ReasonCode::kBackoff || code == ReasonCode::kWorkersAway || code == ReasonCode::kAllBusy ||
         code == ReasonCode::kCanStart;
}

struct BlockedByLimits {
  std::vector<Reason> reasons;
  bool everywhere = false;  // on every worker that may run it
  bool none_free = false;   // on every one that has a free slot
};

BlockedByLimits OfLimits(const JobSnapshot& snapshot, std::size_t matching) {
  BlockedByLimits out;
  std::vector<const LimitOnJob*> blocking;
  if (!Ended(snapshot.match.state) && snapshot.match.queued + snapshot.match.retrying > 0) {
    for (const LimitOnJob& on_job : snapshot.limits.all) {
      if (Blocks(on_job)) blocking.push_back(&on_job);
    }
  }
  // Everywhere before somewhere, where it could start at once before where it could not, never before at some time, and
  // the latest first.
  const auto before = [&](const LimitOnJob* a, const LimitOnJob* b) {
    const bool a_all = Everywhere(*a, matching), b_all = Everywhere(*b, matching);
    if (a_all != b_all) return a_all;
    if (!a_all && (a->free_blocked > 0) != (b->free_blocked > 0)) return a->free_blocked > 0;
    if (a->limit.never != b->limit.never) return a->limit.never;
    return a->limit.payable_at > b->limit.payable_at;
  };
  std::stable_sort(blocking.begin(), blocking.end(), before);
  out.everywhere = !blocking.empty() && Everywhere(*blocking.front(), matching);
  std::size_t on = 0;
  for (const LimitOnJob* on_job : blocking) on += on_job->workers_blocked;
  out.none_free = !blocking.empty() && snapshot.limits.free > 0 && snapshot.limits.free_blocked >= snapshot.limits.free;
  const Places places{matching, out.none_free, !out.everywhere && on < matching};
  if (blocking.size() > kMostOfAKind) blocking.resize(kMostOfAKind);
  for (const LimitOnJob* on_job : blocking) out.reasons.push_back(Say(*on_job, places, snapshot.now));
  return out;
}

// --- The order.

std::vector<Reason> OfCeilings(const OrderSnapshot& order) {
  std::vector<Reason> out;
  for (const Ceiling& ceiling : order.ceilings) {
    if (out.size() == kMostOfAKind) break;
    out.push_back({Advice::kWait, ReasonCode::kMaxSimultaneous, DescribeCeiling(ceiling),
                   ceiling.own ? std::string() : std::string("allot queue show tells the policy")});
  }
  if (order.unselected) {
    out.push_back({Advice::kOperator, ReasonCode::kNotSelected,
                   "no worker that may run it has a strategy that gives it out: they select other jobs",
                   "allot workers shows their strategies"});
  }
  return out;
}

bool IsFirst(const OrderSnapshot& order) {
  return order.first_for.value != 0 || (order.like_free && order.place == 1U) || order.chance;
}
// Is it known that others come first, at least for workers like the one that was looked at?
bool IsBehind(const OrderSnapshot& order) {
  if (order.giving == 0 || IsFirst(order)) return false;
  if (order.place) return *order.place > 1;
  return order.others_first || (order.looked_for > 0 && order.complete);
}

Reason Behind(const JobSnapshot& snapshot) {
  const OrderSnapshot& order = *snapshot.order;
  if (snapshot.promised && snapshot.promised->open == 0 && snapshot.promised->workers > 0 &&
      snapshot.promised->busy == snapshot.promised->workers) {
    const PromiseSnapshot& promised = *snapshot.promised;
    const std::string who = promised.longest_name.empty() ? ToText(promised.longest) : promised.longest_name;
    Reason blocking{
        Advice::kWait, ReasonCode::kPromised,
        fmt::format("its tasks are promised to {} {}, and {} busy", FormatCount(promised.workers),
                    promised.workers == 1 ? "worker" : "workers", promised.workers == 1 ? "it is" : "all are"),
        ""};
    if (snapshot.worker_names) {
      blocking.message += fmt::format(": {} is promised the most of it, {} of {} tasks", who,
                                      FormatCount(promised.longest_tasks), FormatCount(promised.longest_queue));
      blocking.hint = "allot worker " + ToText(promised.longest);
    }
    return blocking;
  }
  Reason said{Advice::kWait, ReasonCode::kBehind, "others come first", ""};
  if (order.place) {
    said.message =
        fmt::format("{} {} before it", FormatCount(*order.place - 1), *order.place == 2 ? "task comes" : "tasks come");
  } else if (order.looked_for > 0 && order.complete) {
    said.message = fmt::format("{} tasks and more come before it", FormatCount(order.looked_for));
  }
  if (order.first) {
    said.message += fmt::format("; the first is of job {}", ToText(*order.first));
    if (!order.first_user.empty()) said.message += ", user " + order.first_user;
  }
  // The block that sets the two apart, where their ways part.
  for (std::size_t i = 0; i < std::min(order.first_why.size(), order.own_why.size()); ++i) {
    const PreviewStep &first = order.first_why[i], &own = order.own_why[i];
    if (first.text == own.text) continue;
    said.message += fmt::format(" ({}; this one: {})", first.text, own.text);
    break;
  }
  return said;
}

// --- One task.

// `, and has done 3 of 10 (frames)`.
std::string ProgressText(const TaskProgress& progress) {
  std::string text = fmt::format(", and has done {:g}", progress.done);
  if (progress.of) text += fmt::format(" of {:g}", *progress.of);
  if (!progress.note.empty()) text += " (" + progress.note + ")";
  return text;
}

std::optional<Reason> OfTask(const JobSnapshot& snapshot) {
  const TaskView& task = *snapshot.task;
  switch (task.state) {
    case TaskState::kQueued:
      return std::nullopt;
    case TaskState::kRunning: {
      std::string where = "on a worker";
      if (snapshot.worker_names) {
        where = "on " + (snapshot.task_worker.empty() ? "worker " + ToText(task.worker) : snapshot.task_worker);
      }
      if (task.started_at) {
        where += ", for " + FormatDuration(std::max(snapshot.match.now - *task.started_at, milliseconds(0)));
      }
      if (task.progress) where += ProgressText(*task.progress);
      return Reason{Advice::kWait, ReasonCode::kRunning, "it runs " + where, "", task.started_at};
    }
    case TaskState::kRetrying:
      if (Ended(snapshot.match.state)) return std::nullopt;
      return Reason{Advice::kWait, ReasonCode::kBackoff,
                    fmt::format("attempt {} failed: the next one is due {}", task.attempts,
                                In(task.retry_at.value_or(snapshot.match.now), snapshot.match.now)),
                    ""};
    case TaskState::kDone:
    case TaskState::kFailed:
    case TaskState::kSkipped:
      return Reason{Advice::kWait, ReasonCode::kEnded, fmt::format("the task is {}", StateText(task.state)), ""};
  }
  return std::nullopt;
}

// Is that what lists say in one word?
bool SameAs(ReasonCode listed, ReasonCode code) {
  if (listed == code) return true;
  if (listed == ReasonCode::kLimit) return code == ReasonCode::kLimitOvertaken || code == ReasonCode::kLimitNever;
  if (listed != ReasonCode::kNoMatch) return false;
  switch (code) {
    case ReasonCode::kTagNeverSeen:
    case ReasonCode::kTagGone:
    case ReasonCode::kTagUnavailable:
    case ReasonCode::kTagsApart:
    case ReasonCode::kConstraintUnmet:
    case ReasonCode::kRequirementsNeverTrue:
    case ReasonCode::kRequirementsUnmet:
    case ReasonCode::kWorkersRefuse:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ApplyWalk(const PreviewWalk& walk, JobId job, OrderSnapshot& order) {
  order.looked_for = static_cast<std::uint32_t>(walk.tasks().size());
  order.complete = walk.complete();
  if (order.giving == 0) return;
  order.chance = order.chance || (order.like_free && walk.focus_by_chance());
  for (std::size_t i = 0; i < walk.tasks().size(); ++i) {
    // Behind what is left to chance there is no place.
    if (walk.tasks()[i].pick.random) break;
    if (walk.tasks()[i].pick.job != job) continue;
    order.place = static_cast<std::uint32_t>(i + 1);
    break;
  }
  if (walk.tasks().empty()) return;
  const PreviewWalk::Task& first = walk.tasks().front();
  order.others_first = first.pick.job != job && !walk.focus_by_chance();
  if (first.pick.job == job) {
    order.first.reset();
    order.first_user.clear();
    order.first_why.clear();
  } else if (first.pick.job != order.first) {
    order.first = first.pick.job;
    order.first_user = first.user;
    order.first_why = first.pick.why;
  }
}

std::vector<Reason> AllReasons(const JobSnapshot& snapshot, const std::vector<Reason>& of_matching,
                               std::size_t matching) {
  if (snapshot.task) {
    if (std::optional<Reason> own = OfTask(snapshot)) return {std::move(*own)};
  }
  BlockedByLimits limits = OfLimits(snapshot, matching);
  const OrderSnapshot* order = snapshot.order ? &*snapshot.order : nullptr;
  std::vector<Reason> blocking = order != nullptr && order->giving == 0 ? OfCeilings(*order) : std::vector<Reason>();
  const bool blocked = limits.everywhere || !blocking.empty();
  blocking.insert(blocking.end(), limits.reasons.begin(), limits.reasons.end());

  std::vector<Reason> out;
  const auto say_blocked = [&] {
    out.insert(out.end(), blocking.begin(), blocking.end());
    blocking.clear();
  };
  for (const Reason& reason : of_matching) {
    const bool can_start = reason.code == ReasonCode::kCanStart;
    if ((blocked && ComesAfter(reason.code)) || (limits.none_free && can_start)) say_blocked();
    if (!can_start) {
      out.push_back(reason);
      continue;
    }
    if (blocked || limits.none_free) continue;
    if (order == nullptr || order->giving == 0) {
      out.push_back(reason);
    } else if (order->giving_free == 0) {
      out.push_back({Advice::kWait, ReasonCode::kAllBusy,
                     fmt::format("{} {} a strategy that gives it out, and no free slot", FormatCount(order->giving),
                                 order->giving == 1 ? "worker has" : "workers have"),
                     ""});
    } else if (!IsBehind(*order)) {
      out.push_back(reason);
      if (order->first_for.value != 0 && !order->chance)
        out.back().message = "the next pull of a worker with a free slot takes it";
      if (order->chance) out.back().message += ", which is left to chance";
    }
  }
  say_blocked();
  // Also where something else keeps it from running: when that is gone, it is not the first yet.
  if (order != nullptr && IsBehind(*order)) out.push_back(Behind(snapshot));
  std::stable_sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) {
    return Gravity(a.advice, a.code) < Gravity(b.advice, b.code);
  });
  if (snapshot.wait_reason && snapshot.wait_reason->since) {
    for (Reason& reason : out) {
      if (!reason.since && SameAs(snapshot.wait_reason->code, reason.code)) reason.since = snapshot.wait_reason->since;
    }
  }
  return out;
}

}  // namespace allot

// SPDX-License-Identifier: Apache-2.0
#include "cli/top/model.h"

#include <algorithm>

#include "base/text.h"

namespace allot::cli::top {
namespace {

using allotter::FromView;

constexpr std::string_view kStates[] = {"scheduled", "active", "paused", "done", "failed", "cancelled"};
constexpr std::string_view kFields[] = {"state", "user", "tag"};

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = AsciiLower(c);
  return out;
}

std::uint64_t EndedTasks(const allotter::Job& job) { return job.done + job.failed + job.skipped; }

void Meter(Model& model, std::chrono::steady_clock::time_point now) {
  if (!model.jobs) return;
  std::map<std::string, RateMeter> rates;
  for (const allotter::Job& job : model.jobs->jobs) {
    if (job.ended()) continue;
    RateMeter& meter = rates[job.id];
    if (const auto known = model.rates.find(job.id); known != model.rates.end()) meter = known->second;
    meter.Add(EndedTasks(job), now);
  }
  model.rates = std::move(rates);
}

template <typename T>
bool Take(Model& model, const std::string& json, T& into) {
  auto parsed = FromView<typename T::value_type>(json);
  if (!parsed) {
    model.Say(parsed.error().message, true);
    return false;
  }
  into = std::move(*parsed);
  return true;
}

std::string TablePath(const Model& model) {
  const TabState& state = model.state();
  const std::string page = state.pages.empty() ? std::string() : state.pages.back();
  switch (model.tab) {
    case Tab::kJobs:
      return allotter::JobsPath(model.queue, {.state = state.filter.Field("state"),
                                              .tag = state.filter.Field("tag"),
                                              .user = state.filter.Field("user"),
                                              .before = page,
                                              .limit = kPageRows});
    case Tab::kWorkers:
      return allotter::WorkersPath(model.queue, page, kPageRows);
    case Tab::kUsers:
      return allotter::UsersPath(model.queue, {.after = page, .limit = kPageRows});
    case Tab::kLimits:
      return allotter::LimitsPath(model.queue);
    case Tab::kReasons:
      break;  // part of the overview
  }
  return "";
}

}  // namespace

std::string Filter::Field(std::string_view name) const {
  for (const auto& [field, value] : fields) {
    if (field == name) return value;
  }
  return "";
}

Filter ParseFilter(std::string_view text) {
  Filter filter{std::string(text)};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = word.find(':');
    const std::string field = Lower(word.substr(0, std::min(colon, word.size())));
    if (colon != std::string_view::npos && colon + 1 < word.size() &&
        std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields)) {
      filter.fields.emplace_back(field, word.substr(colon + 1));
    } else if (!word.empty()) {
      filter.words.push_back(Lower(word));
    }
  }
  return filter;
}

std::optional<std::string> FilterFault(const Filter& filter) {
  const std::string state = filter.Field("state");
  if (state.empty() || std::find(std::begin(kStates), std::end(kStates), state) != std::end(kStates)) return {};
  std::string fault = "there is no state `" + state + "`: it is one of";
  for (const std::string_view known : kStates) fault += " " + std::string(known);
  return fault;
}

Watched WatchedOf(const Model& model) {
  Watched watched{allotter::OverviewPath(model.queue), TablePath(model), ""};
  switch (model.overlay) {
    case Overlay::kJob:
      watched.detail = allotter::ExplainPath(model.queue, model.overlay_id);
      break;
    case Overlay::kWorker:
      watched.detail = allotter::WorkerPath(model.queue, model.overlay_id);
      break;
    case Overlay::kQueues:
      watched.detail = allotter::QueuesPath();
      break;
    case Overlay::kNone:
    case Overlay::kHelp:
      break;
  }
  return watched;
}

void Apply(Model& model, const std::string& path, const std::string& json) {
  const Watched watched = WatchedOf(model);
  if (path == watched.overview) {
    if (Take(model, json, model.overview)) model.connection = Connection::kLive;
  } else if (path == watched.table) {
    model.state().refused.clear();
    switch (model.tab) {
      case Tab::kJobs:
        if (Take(model, json, model.jobs)) Meter(model, std::chrono::steady_clock::now());
        break;
      case Tab::kWorkers:
        Take(model, json, model.workers);
        break;
      case Tab::kUsers:
        Take(model, json, model.users);
        break;
      case Tab::kLimits:
        Take(model, json, model.limits);
        break;
      case Tab::kReasons:
        break;
    }
  } else if (path == watched.detail) {
    std::optional<std::vector<allotter::Queue>> queues;
    switch (model.overlay) {
      case Overlay::kJob:
        Take(model, json, model.explanation);
        break;
      case Overlay::kWorker:
        Take(model, json, model.worker);
        break;
      case Overlay::kQueues:
        if (Take(model, json, queues)) model.queues = std::move(*queues);
        break;
      case Overlay::kNone:
      case Overlay::kHelp:
        break;
    }
  }
}

void Refuse(Model& model, const std::string& path, const allotter::Error& error) {
  const Watched watched = WatchedOf(model);
  if (path == watched.overview) {
    model.connection = Connection::kLost;
    model.lost_why = error.message;
    model.Say(error.message, true);
  } else if (path == watched.table) {
    model.state().refused = error.message;
  } else if (path == watched.detail) {
    model.overlay_error = error.message;
  }
}

void Apply(Model& model, const Outcome& outcome) {
  const Command& command = outcome.command;
  if (command.queue != model.queue) return;
  if (command.kind == CommandKind::kHistory) {
    if (outcome.history) model.history = outcome.history;
    return;
  }
  if (command.kind == CommandKind::kNextOfWorker) {
    if (outcome.next && model.overlay == Overlay::kWorker && model.overlay_id == command.id) model.next = outcome.next;
    return;
  }
  if (outcome.error) {
    std::string text = outcome.error->message;
    if (!outcome.error->hint.empty()) text += " (" + outcome.error->hint + ")";
    model.Say(std::move(text), true);
    return;
  }
  if (command.kind == CommandKind::kCountMany && outcome.many) {
    if (outcome.many->matching == 0) {
      model.Say("no job to cancel");
      return;
    }
    Command again = command;
    again.kind = CommandKind::kCancelMany;
    again.many.dry_run = false;
    again.many.up_to = outcome.many->up_to;
    model.confirm = std::move(again);
    model.question = "cancel " + FormatCount(outcome.many->matching) + (outcome.many->complete ? "" : " or more") +
                     (outcome.many->matching == 1 ? " job" : " jobs") + " with " + FormatCount(outcome.many->tasks) +
                     " unfinished " + (outcome.many->tasks == 1 ? "task" : "tasks") + "?";
    return;
  }
  model.Say(outcome.text);
}

void Tick(Model& model, std::int64_t now_ms, std::chrono::steady_clock::time_point now) {
  if (!model.status.empty() && --model.status_ticks <= 0) model.Say("");
  if (model.frozen) return;
  model.now_ms = now_ms;
  Meter(model, now);
}

void SwitchQueue(Model& model, const std::string& queue) {
  model.queue = queue;
  model.connection = Connection::kConnecting;
  model.overview.reset();
  model.history.reset();
  model.jobs.reset();
  model.workers.reset();
  model.users.reset();
  model.limits.reset();
  model.rates.clear();
  model.explanation.reset();
  model.worker.reset();
  model.next.reset();
  model.overlay = Overlay::kNone;
  model.confirm.reset();
  for (TabState& tab : model.tabs) {
    tab.pages.clear();
    tab.selected.clear();
    tab.at = tab.top = 0;
    tab.refused.clear();
  }
  model.Say("queue " + queue);
}

}  // namespace allot::cli::top

// SPDX-License-Identifier: Apache-2.0
// connections, waits, dashboards: many that are there and mostly silent.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/bench/scenario.h"
#include "cli/bench/worker_link.h"

namespace allot::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkers = 10'000;
constexpr std::size_t kBusy = 64;
constexpr int kDrains = 3;  // before and with the others: the median counts
constexpr std::size_t kWaitLinks = 1'000;
constexpr std::size_t kWaitedJobs = 100'000;
constexpr std::size_t kFinishedJobs = 100;
constexpr std::size_t kDashboards = 200;
constexpr auto kCrowdLimit = 60s;

// A server, and kBusy workers that wait for a word.
struct Drainers {
  explicit Drainers(const Plan& plan) : site(plan) {
    ConnectWorkers(loop, site.target(), crew, kBusy, workers);
    loop.on_tick = [this] { heartbeats.Tick(); };
  }
  Site site;
  Loop loop;
  Crew crew;
  std::vector<std::unique_ptr<WorkerLink>> workers;
  Heartbeats heartbeats{workers};
};

// Tasks a second of the first kBusy workers.
double DrainOnce(Site& site, Loop& loop, Crew& crew, std::vector<std::unique_ptr<WorkerLink>>& workers,
                 std::uint64_t tasks, const Plan& plan) {
  Caller caller(site.target());
  SubmitTasks(caller, tasks, plan.Payload());
  const std::uint64_t before = crew.done;
  const auto begun = SteadyClock::now();
  for (std::size_t i = 0; i < kBusy; ++i) workers[i]->Pull(1);
  loop.RunUntil([&] { return crew.done >= before + tasks; }, kCrowdLimit, "draining");
  const double rate = static_cast<double>(tasks) / SecondsSince(begun);
  for (std::size_t i = 0; i < kBusy; ++i) workers[i]->Pull(0);
  return rate;
}

class WaitLink final : public WebSocketLink {
 public:
  WaitLink(Loop& loop, const Target& target) : WebSocketLink(loop, target, target.Path("/wait")) {}
  bool upgraded = false;
  std::size_t messages = 0;
  std::size_t ended = 0;
  std::string last;

 protected:
  void OnUpgraded() override { upgraded = true; }
  void OnText(std::string_view text) override {
    ++messages;
    last = text;
    for (std::size_t at = text.find("\"id\":"); at != std::string_view::npos; at = text.find("\"id\":", at + 1))
      ++ended;
  }
};

// One view of an open dashboard: a stream of server-sent events.
class ViewLink final : public Link {
 public:
  ViewLink(Loop& loop, const Target& target, std::string_view rest) : Link(loop) {
    const std::string plain = target.Request("GET", target.Path(rest), {}, {});
    const std::size_t end = plain.find("\r\n") + 2;
    request_ = plain.substr(0, end) + "Accept: text/event-stream\r\n" + plain.substr(end);
  }
  std::size_t views = 0;

 protected:
  void OnOpen() override { Send(request_); }
  std::size_t OnData(std::string_view data) override {
    if (views == 0 && data.substr(0, 12) != "HTTP/1.1 200") throw Failure("a view was refused: " + std::string(data));
    for (std::size_t at = data.find("event: view"); at != std::string_view::npos; at = data.find("event: view", at + 1))
      ++views;
    return data.size();
  }

 private:
  std::string request_;
};

}  // namespace

void MeasureDashboards(const Plan& plan, Figures& figures) {
  const std::size_t dashboards = plan.Scaled(kDashboards);
  constexpr std::size_t kViews = 3;  // of a dashboard
  RaiseFileLimit(dashboards * kViews + kBusy + 100);
  Drainers drainers(plan);
  Site& site = drainers.site;
  Loop& loop = drainers.loop;
  Crew& crew = drainers.crew;
  auto& workers = drainers.workers;
  const auto tasks = static_cast<std::uint64_t>(50'000 * plan.seconds);
  std::vector<double> alone, watched;
  double views = 0, seconds = 0;
  std::vector<std::string> waiting;
  {
    Caller caller(site.target());
    SubmitJobs(caller, dashboards, "{\"tag\":\"nobody\",\"count\":1000}", &waiting);
  }
  DrainOnce(site, loop, crew, workers, tasks, plan);  // what is first is slower
  // By turns, so that a machine that becomes slower or faster meanwhile does not decide.
  for (int i = 0; i < kDrains; ++i) {
    alone.push_back(DrainOnce(site, loop, crew, workers, tasks, plan));
    std::vector<std::unique_ptr<ViewLink>> open;
    // Most look at the same; every fifth has the page of a job of its own, with why it waits.
    for (std::size_t d = 0; d < dashboards; ++d) {
      const std::string job = "/jobs/" + waiting[d % waiting.size()];
      const std::string own[kViews] = {job, job + "/picture", job + "/explain"};
      const std::string all[kViews] = {"/overview", "/jobs?limit=50", "/workers?limit=100"};
      for (const std::string& view : d % 5 == 0 ? own : all) {
        open.push_back(std::make_unique<ViewLink>(loop, site.target(), view));
        open.back()->Connect(site.port());
      }
    }
    loop.RunUntil(
        [&] { return std::all_of(open.begin(), open.end(), [](const auto& view) { return view->views > 0; }); },
        kCrowdLimit, "opening dashboards");
    const auto count = [&] {
      std::size_t n = 0;
      for (const auto& view : open) n += view->views;
      return n;
    };
    const std::size_t before = count();
    const auto begun = SteadyClock::now();
    watched.push_back(DrainOnce(site, loop, crew, workers, tasks, plan));
    views += static_cast<double>(count() - before);
    seconds += SecondsSince(begun);
    open.clear();
    const auto left = SteadyClock::now();
    loop.RunUntil([&] { return SecondsSince(left) > 0.5; }, kCrowdLimit, "closing dashboards");
  }
  figures.Add("dashboards/drain_alone", Median(alone), "tasks/s");
  figures.Add("dashboards/drain_watched", Median(watched), "tasks/s");
  figures.Add("dashboards/views", views / seconds, "views/s");
  figures.Add("dashboards/drain_ratio", Median(watched) / Median(alone), "ratio");
}

void MeasureConnections(const Plan& plan, Figures& figures) {
  const std::size_t crowd = std::max<std::size_t>(kBusy, plan.Scaled(kWorkers));
  RaiseFileLimit(crowd + 100);
  Drainers drainers(plan);
  Site& site = drainers.site;
  Loop& loop = drainers.loop;
  Crew& crew = drainers.crew;
  auto& workers = drainers.workers;
  const auto tasks = static_cast<std::uint64_t>(30'000 * plan.seconds);
  std::vector<double> alone, among;
  for (int i = 0; i < kDrains; ++i) alone.push_back(DrainOnce(site, loop, crew, workers, tasks, plan));

  const std::uint64_t rss = site.child().RssBytes();
  const auto begun = SteadyClock::now();
  ConnectWorkers(loop, site.target(), crew, crowd - kBusy, workers);
  const double connecting = SecondsSince(begun);
  const double grown = static_cast<double>(site.child().RssBytes()) - static_cast<double>(rss);
  figures.Add("connections/rss", grown / static_cast<double>(std::max<std::size_t>(1, crowd - kBusy)),
              "bytes/connection");
  figures.Add("connections/connect_all", connecting, "s");

  for (int i = 0; i < kDrains; ++i) among.push_back(DrainOnce(site, loop, crew, workers, tasks, plan));

  crew.may_close = true;
  crew.registered = 0;
  figures.Add("connections/restart", site.Restart(true), "s");
  const auto again = SteadyClock::now();
  loop.RunUntil([&] { return crew.closed >= crowd; }, kCrowdLimit, "noticing the restart");
  crew.may_close = false;
  std::size_t next = 0;
  loop.RunUntil(
      [&] {
        constexpr std::size_t kConnectingAtOnce = 1'000;
        while (next < crowd && next < crew.registered + kConnectingAtOnce) workers[next++]->Connect(site.port());
        return crew.registered >= crowd;
      },
      kCrowdLimit, "registering again");
  figures.Add("connections/register_again", SecondsSince(again), "s");

  // Once more without the others, so that a machine that became slower or faster meanwhile does not decide.
  workers.resize(kBusy);
  const auto left = SteadyClock::now();
  loop.RunUntil([&] { return SecondsSince(left) > 1; }, kCrowdLimit, "letting the others go");
  for (int i = 0; i < kDrains; ++i) alone.push_back(DrainOnce(site, loop, crew, workers, tasks, plan));
  figures.Add("connections/drain_alone", Median(alone), "tasks/s");
  figures.Add("connections/drain_among_all", Median(among), "tasks/s");
  figures.Add("connections/drain_ratio", Median(among) / Median(alone), "ratio");
}

void MeasureWaits(const Plan& plan, Figures& figures) {
  const std::size_t links = plan.Scaled(kWaitLinks);
  const std::size_t per_link = kWaitedJobs / kWaitLinks;
  RaiseFileLimit(links + 100);
  Site site(plan);
  Loop loop;
  Crew crew;
  std::vector<std::unique_ptr<WorkerLink>> workers;
  ConnectWorkers(loop, site.target(), crew, 1, workers);
  Caller caller(site.target());
  std::vector<std::string> ids;
  SubmitJobs(caller, links * per_link, "{\"tag\":\"" + std::string(kBenchTag) + "\"}", &ids);
  if (ids.size() != links * per_link) throw Failure("the batch submit did not name all of its jobs");
  site.Settle();

  std::vector<std::unique_ptr<WaitLink>> waiters;
  for (std::size_t i = 0; i < links; ++i) {
    waiters.push_back(std::make_unique<WaitLink>(loop, site.target()));
    waiters.back()->Connect(site.port());
  }
  loop.RunUntil([&] { return std::all_of(waiters.begin(), waiters.end(), [](const auto& w) { return w->upgraded; }); },
                kCrowdLimit, "connecting");
  const std::uint64_t rss = site.child().RssBytes();
  // Job i is awaited by connection i % links, so that neighbours among jobs are strangers among waiters.
  for (std::size_t w = 0; w < links; ++w) {
    std::string message;
    JsonWriter json(message);
    json.BeginObject().Key("wait").BeginArray();
    for (std::size_t i = w; i < ids.size(); i += links) json.String(ids[i]);
    json.EndArray().EndObject();
    waiters[w]->SendText(message);
  }
  // The waits are there once a job that has ended is told to a connection that asked behind all others.
  const std::string ended(TextField(caller.Call("POST", site.target().Path("/jobs"), "{\"count\":0}"), "id"));
  for (auto& waiter : waiters) waiter->SendText("{\"wait\":[\"" + ended + "\"]}");
  loop.RunUntil(
      [&] { return std::all_of(waiters.begin(), waiters.end(), [](const auto& w) { return w->ended == 1; }); },
      kCrowdLimit, "waiting for a job that has ended");
  const double grown = static_cast<double>(site.child().RssBytes()) - static_cast<double>(rss);
  figures.Add("waits/rss", grown / static_cast<double>(ids.size()), "bytes/wait");

  const std::size_t finish = std::min(kFinishedJobs, links);
  const double cpu = site.CpuSeconds();
  std::vector<double> micros;
  SteadyClock::time_point started;
  workers[0]->on_start = [&] { started = SteadyClock::now(); };
  crew.stop = true;  // one task for each pull
  const auto notified = [&] {
    std::size_t n = 0;
    for (const auto& waiter : waiters) n += waiter->ended - 1;
    return n;
  };
  for (std::size_t i = 1; i <= finish; ++i) {
    workers[0]->Pull(1);
    loop.RunUntil([&] { return crew.done >= i && waiters[i - 1]->ended == 2; }, kCrowdLimit, "being told of an end");
    micros.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - started).count());
  }
  std::size_t woken = 0;
  for (std::size_t i = 0; i < links; ++i) {
    woken += waiters[i]->messages - 1;
    if (waiters[i]->ended == 2 && waiters[i]->last.find("\"" + ids[i] + "\"") == std::string::npos) {
      throw Failure("a waiter was told of another's job: " + waiters[i]->last);
    }
  }
  figures.Add("waits/finished", static_cast<double>(finish), "jobs");
  figures.Add("waits/told", static_cast<double>(notified()), "waits");
  figures.Add("waits/messages", static_cast<double>(woken), "messages");
  figures.Add("waits/server_cpu", (site.CpuSeconds() - cpu) * 1e6 / static_cast<double>(finish), "us/job");
  figures.AddPercentiles("waits/start_to_told", micros, "us");
}

}  // namespace allot::bench

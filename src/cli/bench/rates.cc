// SPDX-License-Identifier: Apache-2.0
// submit, drain, drain_jobs, latency, bulk: how fast.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/scenario.h"
#include "cli/bench/worker_link.h"

namespace allot::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kRateLimit = 120s;

class Submitter final : public HttpLink {
 public:
  struct Shared {
    std::string request;
    std::uint64_t answered = 0;
    bool go_on = true;
    std::size_t busy = 0;
  };
  Submitter(Loop& loop, Shared& shared) : HttpLink(loop), shared_(shared) {}
  void Submit() {
    ++shared_.busy;
    Send(shared_.request);
  }

 protected:
  void OnAnswer(const HttpAnswer& answer) override {
    if (answer.status != 201) throw Failure(std::string(answer.body));
    --shared_.busy;
    ++shared_.answered;
    if (shared_.go_on) Submit();
  }

 private:
  Shared& shared_;
};

std::string OneTaskJob(const Plan& plan) {
  return "{\"tag\":\"" + std::string(kBenchTag) + "\",\"payload\":" + plan.Payload() + "}";
}

std::vector<std::unique_ptr<Submitter>> ConnectSubmitters(Loop& loop, const Target& target, std::size_t count,
                                                          Submitter::Shared& shared) {
  std::vector<std::unique_ptr<Submitter>> links;
  for (std::size_t i = 0; i < count; ++i) {
    links.push_back(std::make_unique<Submitter>(loop, shared));
    links.back()->Connect(target.port);
  }
  loop.RunUntil([&] { return std::all_of(links.begin(), links.end(), [](const auto& link) { return link->opened; }); },
                10s, "connecting");
  return links;
}

// CPU that a unit of work costs on either side of the wire.
class CpuMeter {
 public:
  explicit CpuMeter(Site& site) : site_(site), server_(site.CpuSeconds()), own_(OwnCpuSeconds()) {}
  void Add(const std::string& name, std::string_view unit, std::uint64_t work, Figures& figures) const {
    const double scale = 1e6 / static_cast<double>(std::max<std::uint64_t>(1, work));
    if (site_.own())
      figures.Add(name + "/server_cpu", (site_.CpuSeconds() - server_) * scale, "us/" + std::string(unit));
    figures.Add(name + "/client_cpu", (OwnCpuSeconds() - own_) * scale, "us/" + std::string(unit));
  }

 private:
  Site& site_;
  double server_, own_;
};

struct DrainShape {
  std::size_t workers;
  std::size_t batch;
};

// `fill` puts `tasks` tasks there; they are worked off until the time is over, or all are.
void Drain(const Plan& plan, const std::string& scenario, DrainShape shape, std::uint64_t tasks,
           void (*fill)(Caller&, std::uint64_t, const Plan&), Figures& figures) {
  Site site(plan);
  Loop loop;
  Crew crew;
  std::vector<std::unique_ptr<WorkerLink>> workers;
  ConnectWorkers(loop, site.target(), crew, shape.workers, workers);
  Caller caller(site.target());
  fill(caller, tasks, plan);
  const CpuMeter cpu(site);
  const auto begun = SteadyClock::now();
  for (auto& worker : workers) worker->Pull(shape.batch);
  loop.RunUntil([&] { return crew.done >= tasks || SecondsSince(begun) >= plan.seconds; }, kRateLimit, "draining");
  const double seconds = SecondsSince(begun);
  const std::uint64_t done = crew.done;
  const std::string name =
      scenario + "/workers=" + std::to_string(shape.workers) + "/batch=" + std::to_string(shape.batch);
  figures.Add(name, static_cast<double>(done) / seconds, "tasks/s");
  cpu.Add(name, "task", done, figures);
  // A running server gets the rest worked off, so that nothing is left behind.
  if (!site.own()) loop.RunUntil([&] { return crew.done >= tasks; }, kRateLimit, "draining the rest");
}

// More than a fast server works off in the time of the measurement.
std::uint64_t TasksFor(const Plan& plan, DrainShape shape) {
  const double most_per_second = shape.batch > 1 ? 600'000 : shape.workers > 1 ? 150'000 : 50'000;
  return static_cast<std::uint64_t>(most_per_second * plan.seconds);
}

}  // namespace

void MeasureSubmit(const Plan& plan, Figures& figures) {
  for (const std::size_t clients : plan.clients) {
    Site site(plan);
    Loop loop;
    Submitter::Shared shared;
    shared.request = site.target().Request("POST", site.target().Path("/jobs"), "application/json", OneTaskJob(plan));
    auto links = ConnectSubmitters(loop, site.target(), clients, shared);
    const CpuMeter cpu(site);
    const auto begun = SteadyClock::now();
    for (auto& link : links) link->Submit();
    loop.RunUntil([&] { return SecondsSince(begun) >= plan.seconds; }, kRateLimit, "submitting");
    shared.go_on = false;
    loop.RunUntil([&] { return shared.busy == 0; }, kRateLimit, "submitting");
    const double seconds = SecondsSince(begun);
    const std::string name = "submit/clients=" + std::to_string(clients);
    figures.Add(name, static_cast<double>(shared.answered) / seconds, "jobs/s");
    cpu.Add(name, "job", shared.answered, figures);
  }
}

void MeasureDrain(const Plan& plan, Figures& figures) {
  for (const std::size_t workers : plan.workers) {
    for (const std::size_t batch : plan.batches) {
      const DrainShape shape{workers, batch};
      Drain(
          plan, "drain", shape, TasksFor(plan, shape),
          [](Caller& caller, std::uint64_t tasks, const Plan& p) { SubmitTasks(caller, tasks, p.Payload()); }, figures);
    }
  }
}

void MeasureDrainJobs(const Plan& plan, Figures& figures) {
  for (const std::size_t workers : plan.workers) {
    for (const std::size_t batch : plan.batches) {
      const DrainShape shape{workers, batch};
      Drain(
          plan, "drain_jobs", shape, std::min<std::uint64_t>(TasksFor(plan, shape), plan.Scaled(500'000)),
          [](Caller& caller, std::uint64_t tasks, const Plan& p) { SubmitJobs(caller, tasks, OneTaskJob(p)); },
          figures);
    }
  }
}

void MeasureLatency(const Plan& plan, Figures& figures) {
  Site site(plan);
  Loop loop;
  Crew crew;
  std::vector<std::unique_ptr<WorkerLink>> workers;
  ConnectWorkers(loop, site.target(), crew, 1, workers);
  Submitter::Shared shared;
  shared.go_on = false;
  shared.request = site.target().Request("POST", site.target().Path("/jobs"), "application/json", OneTaskJob(plan));
  auto links = ConnectSubmitters(loop, site.target(), 1, shared);
  SteadyClock::time_point started;
  workers[0]->on_start = [&] { started = SteadyClock::now(); };
  workers[0]->Pull(1);
  std::vector<double> micros;
  const auto begun = SteadyClock::now();
  for (std::uint64_t i = 1; i <= plan.samples && SecondsSince(begun) < 30; ++i) {
    const auto submitted = SteadyClock::now();
    links[0]->Submit();
    loop.RunUntil([&] { return crew.done >= i && shared.answered >= i; }, 10s, "a submit and its task");
    micros.push_back(std::chrono::duration<double, std::micro>(started - submitted).count());
  }
  figures.AddPercentiles("latency", micros, "us");
}

void MeasureBulk(const Plan& plan, Figures& figures) {
  Site site(plan);
  Caller caller(site.target());
  const std::uint64_t tasks = plan.Scaled(1'000'000);
  const std::string path = site.target().Path("/jobs");
  // A tag that no worker has: on a running server nobody must get these.
  const std::string tag = "{\"tag\":\"" + std::string(kBenchTag) + "-bulk\"";
  std::vector<std::string> ids;
  const auto timed = [&](auto&& submit) {
    const auto begun = SteadyClock::now();
    const std::string answer = submit();
    const double ms = SecondsSince(begun) * 1e3;
    ids.emplace_back(TextField(answer, "id"));
    return ms;
  };
  std::vector<double> by_count(21);
  for (double& ms : by_count) {
    ms = timed([&] { return caller.Call("POST", path, tag + ",\"count\":" + std::to_string(tasks) + "}"); });
  }
  figures.Add("bulk/count", Median(by_count), "ms");
  std::vector<double> by_lines(3);
  for (double& ms : by_lines) {
    ms = timed([&] { return caller.CallLines(path, tag + "}", tasks, plan.Payload()); });
  }
  figures.Add("bulk/lines", Median(by_lines), "ms");
  if (site.own()) return;
  for (const std::string& id : ids) caller.Call("POST", fmt::format("{}/{}/cancel", path, id));
}

}  // namespace allot::bench

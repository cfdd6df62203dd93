// SPDX-License-Identifier: Apache-2.0
// A model with something of everything in it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <clocale>
#include <string>

#include "cli/top/model.h"
#include "cli/top/render.h"

namespace allot::cli::top {

inline constexpr std::int64_t kTestNow = 1'794'800'000'000;

// What each test needs, and the locale that widths are of.
inline void UseUtf8() { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }

inline allotter::Job TestJob(std::string id, std::string state, std::string user, std::vector<std::string> tags) {
  allotter::Job job;
  job.id = std::move(id);
  job.state = std::move(state);
  job.paused = job.state == "paused";
  job.user = std::move(user);
  job.tags = std::move(tags);
  return job;
}

inline Model TestModel() {
  Model model;
  model.server = "http://127.0.0.1:7420";
  model.now_ms = kTestNow;
  model.connection = Connection::kLive;
  allotter::Overview& overview = model.overview.emplace();
  overview.queue.name = "default";
  overview.queue.tasks_queued = 1200;
  overview.queue.tasks_retrying = 4;
  overview.queue.tasks_running = 11;
  overview.queue.jobs_failed = 2;
  overview.rates = {.submitted = 12.5, .started = 10.1, .done = 10, .failed = 0.1};
  overview.oldest_waiting = {"103", kTestNow - 125'000};
  overview.workers = {.registered = 4, .waiting = 1, .away = 1, .draining = 0, .slots = 16, .busy = 11};
  overview.reasons.push_back({"all_busy", "wait", 1204, 12, 2, kTestNow - 65'000, "103", {"render"}});
  overview.reasons.push_back({"no_match", "operator", 7, 1, 1, std::nullopt, "101", {"gpu", "big"}});
  overview.banners.push_back({"warning", "no_match", "no worker can run 1 job (7 tasks)", "allot explain 101", "101"});
  allotter::History& history = model.history.emplace();
  history.done = {0, 1, 2, 3, 4, 5, 6, 7};
  history.queued = {7, 6, 5, 4, 3, 2, 1, 0};
  history.retrying = std::vector<std::uint64_t>(8, 0);

  allotter::JobPage& jobs = model.jobs.emplace();
  allotter::Job one = TestJob("103", "active", "ann", {"render"});
  one.count = 1000;
  one.done = 500;
  one.failed = 1;
  one.running = 9;
  one.queued = 490;
  one.wait_reason = {"all_busy", "wait", kTestNow - 65'000};
  jobs.jobs.push_back(one);
  allotter::Job two = TestJob("102", "done", "bob", {"mail"});
  two.count = two.done = 10;
  jobs.jobs.push_back(two);
  allotter::Job three = TestJob("101", "paused", "", {"gpu", "big"});
  three.count = three.queued = 7;
  three.wait_reason = {"job_paused", "operator", std::nullopt};
  jobs.jobs.push_back(three);
  model.rates["103"].Add(0, std::chrono::steady_clock::time_point{});
  model.rates["103"].Add(50, std::chrono::steady_clock::time_point{} + std::chrono::seconds(1));

  allotter::WorkerPage& workers = model.workers.emplace();
  allotter::WorkerInfo worker;
  worker.id = "77";
  worker.name = "host-1";
  worker.tags = {"render"};
  worker.strategy = "priority";
  worker.slots = 4;
  worker.running = 3;
  worker.connected = true;
  worker.promised = 12;
  worker.registered_at_ms = kTestNow - 5'000;
  workers.workers.push_back(worker);
  worker.id = "78";
  worker.name = "host-2";
  worker.draining = true;
  worker.running = 0;
  workers.workers.push_back(worker);

  allotter::UserPage& users = model.users.emplace();
  allotter::UserInfo user;
  user.user = "ann";
  user.share = 0.25;
  user.use = 0.75;
  user.jobs = 3;
  user.queued = 1000;
  user.running = 9;
  users.users.push_back(user);

  allotter::Limit limit;
  limit.uuid = "u-1";
  limit.spec.tag = "agent-7";
  limit.spec.name = "ann, slowly";
  limit.spec.expr = "MY.User == \"ann\"";
  limit.spec.count = 10;
  limit.spec.window = std::chrono::minutes(1);
  limit.spec.expires_in = std::chrono::minutes(5);
  limit.tokens = 2.5;
  limit.waiting = 1;
  limit.payable_in_ms = 3000;
  model.limits.emplace().push_back(limit);

  allotter::Queue queue;
  queue.name = "default";
  model.queues.push_back(queue);
  queue.name = "other";
  model.queues.push_back(queue);
  return model;
}

}  // namespace allot::cli::top

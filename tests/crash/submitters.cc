// SPDX-License-Identifier: Apache-2.0
// The half of Load that submits and cancels.
#include <algorithm>
#include <cstdlib>

#include "crash/load.h"

namespace allot::testing {
namespace {

constexpr char kJobs[] = "/v1/queues/default/jobs";

// Tasks that have not ended; none while the server is away.
std::uint64_t OpenTasks(Http& http) {
  const Answer answer = http.Get("/v1/queues/default");
  if (!answer.ok()) return 0;
  const Document queue(answer.body);
  return static_cast<std::uint64_t>(queue.Int("/tasks/queued", 0) + queue.Int("/tasks/retrying", 0) +
                                    queue.Int("/tasks/running", 0));
}

}  // namespace

template <typename Send>
Answer Load::Insist(Http& http, const Send& send) {
  while (!give_up_) {
    Answer answer = send();
    if (answer.ok()) return answer;
    const std::string code = answer.ErrorCode();
    if (answer.status != 0 && code != "stopping" && code != "unavailable") {
      ledger_.Violation("a submitter was answered " + std::to_string(answer.status) + " " + answer.body);
      return {};
    }
    http.Close();
    std::this_thread::sleep_for(milliseconds(10));
  }
  return {};
}

std::string Load::Spec(LedgerJob& job, std::mt19937_64& random, bool with_count) {
  job.max_attempts = random() % 10 == 0 ? 3 : 1000;
  job.may_fail = random() % 10 == 0;
  std::string spec = R"({"tag":"crash","idempotency_key":")" + job.key + R"(","lease_ms":)" +
                     std::to_string(options_.lease.count()) + R"(,"max_attempts":)" + std::to_string(job.max_attempts) +
                     R"(,"backoff":{"first_ms":5,"factor":2,"max_ms":50},"max_failed_tasks":)" +
                     (job.may_fail ? "0" : "\"100%\"");
  if (random() % 4 == 0) spec += R"(,"priority":)" + std::to_string(random() % 5);
  if (random() % 10 == 0) spec += R"(,"delay_ms":)" + std::to_string(random() % 500);
  if (random() % 10 == 0) spec += R"(,"meta":{"customer":"c)" + std::to_string(random() % 7) + "\"}";
  if (with_count) spec += R"(,"count":)" + std::to_string(job.count);
  return spec + "}";
}

void Load::Enter(LedgerJob job, const std::string& id, bool existing, bool first_try) {
  job.id = std::strtoull(id.c_str(), nullptr, 10);
  if (job.id == 0) return ledger_.Violation("a submit was answered without an id");
  if (existing && first_try) ledger_.Violation("job " + id + " is said to have existed before it was submitted");
  ledger_.Submitted(job);
}

void Load::SubmitOne(Http& http, const std::string& key, std::mt19937_64& random) {
  LedgerJob job{.key = key, .count = 1 + static_cast<std::uint32_t>(random() % 30)};
  const std::string spec = Spec(job, random, true);
  int tries = 0;
  const Answer answer = Insist(http, [&] {
    ++tries;
    return http.Post(kJobs, spec);
  });
  if (!answer.ok()) return;
  const Document reply(answer.body);
  Enter(job, reply.Text("/job/id"), reply.Bool("/existing"), tries == 1);
}

void Load::SubmitBatch(Http& http, const std::string& key, std::mt19937_64& random) {
  std::vector<LedgerJob> jobs(1 + random() % 20);
  std::string body;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].key = key + "." + std::to_string(i);
    jobs[i].count = 1 + static_cast<std::uint32_t>(random() % 3);
    body += (i == 0 ? R"({"jobs":[)" : ",") + Spec(jobs[i], random, true);
  }
  body += "]}";
  int tries = 0;
  const Answer answer = Insist(http, [&] {
    ++tries;
    return http.Post(std::string(kJobs) + "/batch", body);
  });
  if (!answer.ok()) return;
  const Document reply(answer.body);
  if (reply.Size("/jobs") != jobs.size()) return ledger_.Violation("a batch was answered " + answer.body);
  std::size_t i = 0;
  std::size_t existing = 0;
  reply.ForEach("/jobs", [&](const Json& job) {
    existing += job.Bool("/existing");
    Enter(jobs[i++], job.Text("/id"), job.Bool("/existing"), tries == 1);
  });
  if (existing != 0 && existing != jobs.size()) ledger_.Violation("a part of a batch was there: " + answer.body);
}

void Load::SubmitStream(Http& http, const std::string& key, std::mt19937_64& random) {
  LedgerJob job{.key = key, .count = static_cast<std::uint32_t>(random() % 200)};
  std::vector<std::string> pieces = {Spec(job, random, job.count == 0) + "\n"};
  for (std::uint32_t i = 0; i < job.count; ++i) {
    std::string line = R"({"line":)" + std::to_string(i) + "}\n";
    if (random() % 3 == 0) {
      pieces.push_back(std::move(line));
    } else {
      pieces.back() += line;
    }
  }
  if (random() % 4 == 0) {
    http.PostStream(kJobs, pieces, true);  // leaves nothing, and so never shows in the ledger
    return;
  }
  int tries = 0;
  const Answer answer = Insist(http, [&] {
    ++tries;
    return http.PostStream(kJobs, pieces);
  });
  if (!answer.ok()) return;
  const Document reply(answer.body);
  Enter(job, reply.Text("/job/id"), reply.Bool("/existing"), tries == 1);
}

void Load::SubmitLoop(int number, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Http http(PortOf(number));
  for (int i = 0; submitting_; ++i) {
    const std::string key = "s" + std::to_string(number) + "-" + std::to_string(i);
    switch (random() % 4) {
      case 0:
        SubmitBatch(http, key, random);
        break;
      case 1:
        SubmitStream(http, key, random);
        break;
      default:
        SubmitOne(http, key, random);
    }
    do {
      std::this_thread::sleep_for(milliseconds(2 + random() % 20));
    } while (submitting_ && OpenTasks(http) > options_.max_open_tasks);
  }
}

void Load::CancelLoop(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Http http(options_.port);
  while (submitting_) {
    std::this_thread::sleep_for(milliseconds(20 + random() % 100));
    const std::optional<std::uint64_t> job = ledger_.AnyJob(random());
    if (!job) continue;
    ledger_.CancelSent(*job);
    const Answer answer =
        Insist(http, [&] { return http.Post(std::string(kJobs) + "/" + std::to_string(*job) + "/cancel", ""); });
    if (answer.ok()) ledger_.CancelAcknowledged(*job, Document(answer.body).Text("/state"));
  }
}

}  // namespace allot::testing

// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/feeder.h"

#include <random>
#include <string>
#include <vector>

#include "cli/demo/world.h"

namespace allot::cli::demo {
namespace {

using Clock = std::chrono::steady_clock;
using allotter::Client;

constexpr std::chrono::milliseconds kStep{250};
constexpr std::chrono::seconds kRenewLimit{60};
constexpr std::string_view kRetention = R"(,"retention_ms":600000)";

std::string SpecOf(const Producer& producer, std::uint64_t tasks) {
  std::string spec = R"({"tag":")" + std::string(producer.tag) + R"(","user":")" + std::string(producer.user) +
                     R"(","count":)" + std::to_string(tasks) + R"(,"payload":{"work":")" + std::string(producer.tag) +
                     R"("})";
  spec += kRetention;
  spec += producer.more;
  spec += '}';
  return spec;
}

// True if another job of it may come.
bool HasRoom(Client& client, const Producer& producer) {
  allotter::JobQuery query;
  query.user = producer.user;
  query.tag = producer.tag;
  query.state = "active";
  query.limit = producer.most_open;
  const auto page = client.jobs().List(query);
  return page && page->jobs.size() < producer.most_open;
}

}  // namespace

Feeder::Feeder(allotter::ConnectionOptions server) : server_(std::move(server)) {
  thread_ = std::thread([this] { Loop(); });
}

Feeder::~Feeder() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wakeup_.notify_one();
  thread_.join();
}

bool Feeder::Sleep(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wakeup_.wait_for(lock, time, [this] { return ending_; });
}

void Feeder::Loop() {
  auto client = Client::Open(server_);
  if (!client) return;
  // What fails here comes again: the server may be on its way down, and then so are we.
  const std::string limit = "/v1/queues/" + server_.queue + "/limits/" + std::string(kLimitId);
  std::mt19937_64 random(std::random_device{}());
  std::vector<Clock::time_point> due(Producers().size(), Clock::now());
  Clock::time_point renew = Clock::now();
  do {
    const Clock::time_point now = Clock::now();
    if (now >= renew) {
      renew = now + kRenewLimit;
      static_cast<void>(client->Call("PUT", limit, kLimit));
    }
    for (std::size_t i = 0; i < due.size(); ++i) {
      const Producer& producer = Producers()[i];
      if (now < due[i]) continue;
      due[i] = now + std::chrono::milliseconds(producer.every_ms);
      if (!HasRoom(*client, producer)) continue;
      std::uniform_int_distribution<std::uint64_t> tasks(producer.least_tasks, producer.most_tasks);
      static_cast<void>(client->jobs().SubmitJson(SpecOf(producer, tasks(random))));
    }
  } while (Sleep(kStep));
}

}  // namespace allot::cli::demo

// SPDX-License-Identifier: Apache-2.0
#include "cli/demo/crew.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "allotter/async_worker.h"
#include "cli/demo/world.h"

namespace allot::cli::demo {
namespace {

namespace asio = boost::asio;
using allotter::Assignment;
using allotter::Outcome;

// `{"work":"emails"}`: the server says nothing of a job's tags to its workers.
std::string_view TagOf(std::string_view payload) {
  constexpr std::string_view kBefore = R"("work":")";
  const std::size_t found = payload.find(kBefore);
  if (found == std::string_view::npos) return {};
  payload.remove_prefix(found + kBefore.size());
  return payload.substr(0, payload.find('"'));
}

class Hand {
 public:
  Hand(asio::io_context& io, const Machine& machine, const allotter::ConnectionOptions& server)
      : io_(io), random_(std::random_device{}()), worker_(io, Options(machine, server), Events()) {
    static_cast<void>(worker_.Start());
  }

 private:
  static allotter::WorkerOptions Options(const Machine& machine, const allotter::ConnectionOptions& server) {
    allotter::WorkerOptions options;
    options.connection = server;
    options.name = machine.name;
    options.tags.assign(machine.tags.begin(), machine.tags.end());
    options.properties = {{"zone", std::string(machine.zone)}};
    options.attributes = {{"memory", machine.memory}};
    options.slots = machine.slots;
    return options;
  }

  allotter::WorkerEvents Events() {
    allotter::WorkerEvents events;
    events.on_tasks = [this](std::vector<Assignment>&& tasks) {
      for (const Assignment& task : tasks) Begin(task);
    };
    events.on_cancel = [this](const allotter::StopRequest& order) {
      const auto found = running_.find(order.task.lease);
      if (found == running_.end()) return;
      running_.erase(found);
      if (order.reason != "lost") worker_.Finish(order.task, Outcome::Failed("stopped: " + order.reason));
    };
    return events;
  }

  void Begin(const Assignment& task) {
    const Trade* trade = FindTrade(TagOf(task.job_payload.empty() ? task.payload : task.job_payload));
    // Whoever looks around submits tasks, too.
    static constexpr Trade kOther{.tag = "", .least_ms = 50, .most_ms = 500, .result = R"({"demo":true})"};
    if (trade == nullptr) trade = &kOther;
    const int took = std::uniform_int_distribution<int>(trade->least_ms, trade->most_ms)(random_);
    auto timer = std::make_unique<asio::steady_timer>(io_, std::chrono::milliseconds(took));
    timer->async_wait([this, ref = task.task, trade](const boost::system::error_code& ec) {
      if (ec) return;
      running_.erase(ref.lease);
      worker_.Finish(ref, End(*trade));
    });
    running_[task.task.lease] = std::move(timer);
  }

  Outcome End(const Trade& trade) {
    if (trade.failing > 0 && std::uniform_real_distribution<double>()(random_) < trade.failing) {
      const std::size_t which = std::uniform_int_distribution<std::size_t>(0, trade.errors.size() - 1)(random_);
      return Outcome::Failed(std::string(trade.errors[which]));
    }
    return Outcome::Done(std::string(trade.result));
  }

  asio::io_context& io_;
  std::mt19937_64 random_;
  std::unordered_map<std::string, std::unique_ptr<asio::steady_timer>> running_;  // by lease
  allotter::AsyncWorker worker_;
};

}  // namespace

class Crew::Impl {
 public:
  explicit Impl(const allotter::ConnectionOptions& server) {
    for (const Machine& machine : Machines()) hands_.push_back(std::make_unique<Hand>(io_, machine, server));
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Impl() {
    io_.stop();
    thread_.join();
  }

 private:
  asio::io_context io_;
  std::vector<std::unique_ptr<Hand>> hands_;
  std::thread thread_;
};

Crew::Crew(const allotter::ConnectionOptions& server) : impl_(std::make_unique<Impl>(server)) {}
Crew::~Crew() = default;

}  // namespace allot::cli::demo

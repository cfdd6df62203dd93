// SPDX-License-Identifier: Apache-2.0
// Flows on real threads: where they go on, how they end, and who destroys what.
#include "server/flow/flow.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "server/flow/each_queue.h"
#include "server/flow/job_news.h"
#include "server/flow/places.h"
#include "server/flow/step.h"
#include "server/net/context.h"
#include "server/testing_queue.h"

namespace allot {
namespace {

using ThreadId = std::thread::id;

// Says on which thread it was destroyed, once.
class Trace {
 public:
  explicit Trace(std::vector<ThreadId>* destroyed) : destroyed_(destroyed) {}
  Trace(Trace&& other) noexcept : destroyed_(std::exchange(other.destroyed_, nullptr)) {}
  Trace& operator=(Trace&&) = delete;
  ~Trace() {
    if (destroyed_ != nullptr) destroyed_->push_back(std::this_thread::get_id());
  }

 private:
  std::vector<ThreadId>* destroyed_;
};

// Gets the answer to one request.
class Asker final : public ReplyTarget {
 public:
  explicit Asker(NetThread& home) : home_(home) {}
  NetThread& home() const override { return home_; }
  std::uint64_t owner() const override { return 7; }
  void Respond(std::uint64_t, const Response& response, Closure) override {
    thread = std::this_thread::get_id();
    body = response.body;
    answered_.set_value(response.status);
  }
  void OnAbort(std::uint64_t, Closure) override {}
  std::shared_ptr<OpenResponse> Hijack(std::uint64_t) override { return nullptr; }
  bool Awaits(std::uint64_t) const override { return there; }

  // The status.
  int Wait() { return answered_.get_future().get(); }
  ThreadId thread;
  std::string body;
  std::atomic<bool> there{true};

 private:
  NetThread& home_;
  std::promise<int> answered_;
};

class FlowTest : public ::testing::Test {
 protected:
  FlowTest() : home_(server_.exceptions) { home_.Start(); }
  ~FlowTest() override {
    queue_->Finish();
    server_.rendering.Finish();
    server_.parsing.Finish();
    server_.slow.Finish();
    home_.Stop();
  }
  void SetUp() override {
    queue_ = testing::OpenMemoryQueue(server_.ids);
    queue_->Post([this](Round&) { engine_thread_ = std::this_thread::get_id(); });
    OnHome([this] { home_thread_ = std::this_thread::get_id(); });
    Settle();
  }
  template <typename F>
  void OnHome(F f) {
    std::promise<void> done;
    home_.Post(Closure([&] {
      f();
      done.set_value();
    }));
    done.get_future().wait();
  }
  // What was posted before has run.
  void Settle() {
    std::promise<void> done;
    queue_->Post([&](Round&) { done.set_value(); });
    done.get_future().wait();
    OnHome([] {});
  }
  Call NewCall(const std::shared_ptr<Asker>& asker) {
    Request request;
    request.principal = LocalPrincipal();
    request.peer = "127.0.0.1:1";
    return Call{server_, std::move(request), Reply(asker, 1), queue_};
  }
  // Starts `serve(call, more…)` as a connection does, and gives who waits for its answer.
  template <typename Serve, typename... More>
  std::shared_ptr<Asker> Start(Serve serve, More... more) {
    auto asker = std::make_shared<Asker>(home_);
    home_.Post(Closure([this, asker, serve, more...]() mutable { serve(NewCall(asker), more...).Start(); }));
    return asker;
  }

  ServerContext server_{Config(), {}};
  NetThread home_;
  QueuePtr queue_;
  ThreadId engine_thread_, home_thread_;
};

struct Places {
  ThreadId begin, engine, committed, lane, back, parse, slow;
  std::vector<ThreadId> destroyed;
};

Flow VisitAll(Call call, Places* at) {
  at->begin = std::this_thread::get_id();
  co_await OnParseLane(call);
  at->parse = std::this_thread::get_id();
  RoundHere round = co_await Look(call);
  at->engine = std::this_thread::get_id();
  const Trace large(&at->destroyed);
  co_await AfterCommit(round);
  at->committed = std::this_thread::get_id();
  co_await OnLane(call.server.slow);
  at->slow = std::this_thread::get_id();
  co_await OnNetwork(call);
  at->back = std::this_thread::get_id();
  co_await OnRenderLane(call);
  at->lane = std::this_thread::get_id();
  co_return Answer(201, "made");
}

TEST_F(FlowTest, GoesFromPlaceToPlaceAndAnswersOnItsNetworkThread) {
  Places at;
  const auto asker = Start(VisitAll, &at);
  EXPECT_EQ(asker->Wait(), 201);
  EXPECT_EQ(asker->body, "made");
  EXPECT_EQ(asker->thread, home_thread_);
  EXPECT_EQ(at.begin, home_thread_);
  EXPECT_EQ(at.engine, engine_thread_);
  EXPECT_EQ(at.committed, home_thread_);
  EXPECT_EQ(at.back, home_thread_);
  for (const ThreadId lane : {at.parse, at.slow, at.lane}) {
    EXPECT_NE(lane, home_thread_);
    EXPECT_NE(lane, engine_thread_);
  }
  // What it found is destroyed where it ended.
  EXPECT_EQ(at.destroyed, std::vector<ThreadId>{at.lane});
}

Flow FailOnEngine(Call call, std::vector<ThreadId>* destroyed) {
  call.parsed = std::make_shared<Trace>(destroyed);
  RoundHere round = co_await OnEngine(call);
  if (round->stall != Stall::kNone) co_return kAnswered;
  co_return Error{Code::kUnknownJob, "there is no such job", ""};
}

TEST_F(FlowTest, AnErrorOfTheEngineThreadIsAnsweredOnTheNetworkThreadWhichDestroysTheCall) {
  std::vector<ThreadId> destroyed;
  const auto asker = Start(FailOnEngine, &destroyed);
  EXPECT_EQ(asker->Wait(), 404);
  EXPECT_EQ(asker->thread, home_thread_);
  Settle();
  EXPECT_EQ(destroyed, std::vector<ThreadId>{home_thread_});
}

TEST_F(FlowTest, ACommandThatIsDroppedEndsItAndTheClientLearnsOfIt) {
  queue_->Finish();
  Places at;
  const auto asker = Start(VisitAll, &at);
  EXPECT_EQ(asker->Wait(), 503);
  EXPECT_EQ(at.engine, ThreadId());
}

Step<int> Throw(Call& call, std::vector<ThreadId>* destroyed) {
  const Trace local(destroyed);
  RoundHere round = co_await Look(call);
  co_await AfterCommit(round);
  if (round.flow().asker() != 0) throw std::runtime_error("as a library may");
  co_return 1;
}

Flow ThrowThrough(Call call, std::vector<ThreadId>* destroyed) {
  const Trace local(destroyed);
  const int number = co_await Throw(call, destroyed);
  co_return Answer(number, "");
}

Flow CatchIt(Call call, std::vector<ThreadId>* destroyed) {
  int status = 200;
  try {
    co_await Throw(call, destroyed);
  } catch (const std::runtime_error&) {
    status = 201;
  }
  co_return Answer(status, "");
}

Flow ThrowOnLane(Call call, std::vector<ThreadId>* destroyed) {
  const Trace local(destroyed);
  co_await OnRenderLane(call);
  throw std::runtime_error("as a library may");
}

Flow ThrowAtOnce(Call, std::vector<ThreadId>* destroyed) {
  const Trace local(destroyed);
  if (destroyed != nullptr) throw std::runtime_error("as a library may");
  co_return kAnswered;
}

TEST_F(FlowTest, AnExceptionEndsItWhereItIsThrownAndTheClientLearnsOfIt) {
  std::vector<ThreadId> destroyed;
  EXPECT_EQ(Start(ThrowThrough, &destroyed)->Wait(), 503);
  EXPECT_EQ(destroyed, (std::vector<ThreadId>{home_thread_, home_thread_}));
  destroyed.clear();
  EXPECT_EQ(Start(ThrowOnLane, &destroyed)->Wait(), 503);
  EXPECT_EQ(destroyed.size(), 1u);
  destroyed.clear();
  EXPECT_EQ(Start(ThrowAtOnce, &destroyed)->Wait(), 503);
  EXPECT_EQ(destroyed.size(), 1u);
}

TEST_F(FlowTest, AnExceptionOfAStepIsThrownInWhoAwaitsIt) {
  std::vector<ThreadId> destroyed;
  EXPECT_EQ(Start(CatchIt, &destroyed)->Wait(), 201);
  EXPECT_EQ(destroyed.size(), 1u);
}

Flow Note(Call call, std::string* order, char name) {
  RoundHere round = co_await OnEngine(call);
  order->push_back(name);
  co_await AfterCommit(round);
  co_return Answer(200, "");
}

TEST_F(FlowTest, CommandsOfOneAskerRunInTheirOrder) {
  std::string order;
  std::vector<std::shared_ptr<Asker>> askers;
  for (const char name : std::string("abcdefgh")) askers.push_back(Start(Note, &order, name));
  for (const auto& asker : askers) EXPECT_EQ(asker->Wait(), 200);
  EXPECT_EQ(order, "abcdefgh");
}

Flow LookAround(Call call, std::atomic<int>* looked) {
  RoundHere round = co_await Browse(call);
  looked->fetch_add(round->crowded ? 100'000 : 1);
  co_await AfterCommit(round);
  co_return Answer(200, "");
}

TEST_F(FlowTest, TooManyLooksOfOneAskerAreRefusedAndTheOthersGoOn) {
  constexpr int kMany = 600;  // more than may wait
  std::promise<void> go;
  queue_->Post([&](Round&) { go.get_future().wait(); });
  std::atomic<int> looked{0};
  std::vector<std::shared_ptr<Asker>> askers;
  for (int i = 0; i < kMany; ++i) askers.push_back(Start(LookAround, &looked));
  OnHome([] {});
  go.set_value();
  int refused = 0;
  for (const auto& asker : askers) refused += asker->Wait() == 503 ? 1 : 0;
  EXPECT_GT(refused, 0);
  EXPECT_EQ(looked, kMany - refused);
}

Flow RenderFor(Call call, bool* rendered) {
  RoundHere round = co_await Look(call);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  *rendered = true;
  co_return Answer(200, "");
}

TEST_F(FlowTest, WhatNobodyWaitsForIsNotPutIntoWords) {
  bool rendered = false;
  auto asker = std::make_shared<Asker>(home_);
  asker->there = false;
  OnHome([&] { RenderFor(NewCall(asker), &rendered).Start(); });
  asker->Wait();
  EXPECT_FALSE(rendered);
}

Flow CountJobs(Call call, std::vector<QueuePtr> queues) {
  std::vector<int> seen(queues.size());
  auto visit = [&seen](Round& round, std::size_t i) {
    seen[i] = static_cast<int>(round.engine.looks().Stats().jobs_active) + 1;
  };
  co_await LookAtEach(call, queues, visit);
  std::string out;
  for (const int one : seen) out += std::to_string(one);
  co_return Answer(200, std::move(out));
}

TEST_F(FlowTest, AQueueThatIsGoneIsNotWaitedFor) {
  const QueuePtr gone = testing::OpenMemoryQueue(server_.ids);
  gone->Finish();
  const auto asker = Start(CountJobs, std::vector<QueuePtr>{queue_, gone, queue_});
  EXPECT_EQ(asker->Wait(), 200);
  EXPECT_EQ(asker->body, "101");
  const auto nobody = Start(CountJobs, std::vector<QueuePtr>{});
  EXPECT_EQ(nobody->Wait(), 200);
}

Flow WaitForJob(Call call, std::atomic<bool>* waits) {
  RoundHere round = co_await Look(call);
  JobSpec spec;
  spec.count = 1;
  CO_TRY(const SubmitAnswer submitted, round->engine.jobs().Submit(round->now, JobId{1}, spec));
  *waits = true;
  co_await JobEnd(round, submitted.job, round->now.mono + std::chrono::hours(1));
  CO_TRY(const JobView& view, round->engine.looks().Describe(submitted.job));
  co_await AfterCommit(round);
  co_return Answer(200, std::to_string(view.skipped));
}

TEST_F(FlowTest, WaitsForTheEndOfAJobOrOfItsQueue) {
  std::atomic<bool> waits{false};
  const auto asker = Start(WaitForJob, &waits);
  while (!waits) Settle();
  queue_->Post([](Round& round) { EXPECT_TRUE(round.engine.jobs().Cancel(round.now, JobId{1}).ok()); });
  EXPECT_EQ(asker->Wait(), 200);
  EXPECT_EQ(asker->body, "1");

  queue_->Finish();
  queue_ = testing::OpenMemoryQueue(server_.ids);
  waits = false;
  const auto other = Start(WaitForJob, &waits);
  while (!waits) Settle();
  queue_->FinishDeleted();
  EXPECT_EQ(other->Wait(), 404);
}

}  // namespace
}  // namespace allot

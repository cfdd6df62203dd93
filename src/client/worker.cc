// SPDX-License-Identifier: Apache-2.0
#include "allotter/worker.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace allotter {

namespace asio = boost::asio;

class Worker::Impl {
 public:
  Impl(WorkerOptions options, Handler handler)
      : handler_(std::move(handler)),
        slots_(std::max(1u, options.slots)),
        worker_(context_, std::move(options), Events()) {}

  Result<void> Run() {
    if (auto started = worker_.Start(); !started) return started;
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < slots_; ++i) threads.emplace_back([this] { Serve(); });
    auto guard = asio::make_work_guard(context_);
    context_.run();
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads) thread.join();
    return why_;
  }

  void Drain() {
    asio::post(context_, [this] {
      std::deque<std::shared_ptr<TaskContext>> waiting;
      {
        const std::lock_guard lock(mutex_);
        waiting.swap(waiting_);
      }
      for (const auto& task : waiting) End(*task, Outcome::Released());
      worker_.Drain();
    });
  }

  void Change(WorkerChange change) {
    asio::post(context_, [this, change = std::move(change)] { worker_.Change(change); });
  }

 private:
  WorkerEvents Events() {
    WorkerEvents events;
    events.on_tasks = [this](std::vector<Assignment>&& tasks) {
      {
        const std::lock_guard lock(mutex_);
        for (Assignment& assignment : tasks) {
          TaskRef ref = assignment.task;
          auto task =
              std::make_shared<TaskContext>(std::move(assignment), [this, ref = std::move(ref)](TaskProgress progress) {
                asio::post(context_, [this, ref, progress = std::move(progress)]() mutable {
                  worker_.Progress(ref, std::move(progress));
                });
              });
          by_lease_[task->assignment().task.lease] = task;
          waiting_.push_back(std::move(task));
        }
      }
      tasks.size() == 1 ? wake_.notify_one() : wake_.notify_all();
    };
    events.on_cancel = [this](const CancelOrder& order) {
      const auto found = by_lease_.find(order.task.lease);
      if (found != by_lease_.end()) found->second->cancelled_ = true;
    };
    events.on_drain = [this] { Drain(); };
    events.on_stopped = [this](const Result<void>& why) {
      why_ = why;
      context_.stop();
    };
    return events;
  }

  void End(const TaskContext& task, Outcome outcome) {
    worker_.Finish(task.assignment().task, std::move(outcome));
    by_lease_.erase(task.assignment().task.lease);
  }

  void Serve() {
    for (;;) {
      std::shared_ptr<TaskContext> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return over_ || !waiting_.empty(); });
        if (over_) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      Outcome outcome;
      try {
        outcome = task->cancelled() ? Outcome::Released() : handler_(*task);
      } catch (const std::exception& error) {
        outcome = Outcome::Failed(error.what());
      } catch (...) {
        outcome = Outcome::Failed("the handler threw something that is no std::exception");
      }
      asio::post(context_, [this, task, outcome = std::move(outcome)]() mutable { End(*task, std::move(outcome)); });
    }
  }

  const Handler handler_;
  const std::uint32_t slots_;
  asio::io_context context_{1};
  AsyncWorker worker_;
  std::map<std::string, std::shared_ptr<TaskContext>> by_lease_;  // on the context's thread
  Result<void> why_;

  std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<std::shared_ptr<TaskContext>> waiting_;
  bool over_ = false;
};

Worker::Worker(WorkerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
Worker::~Worker() = default;
Result<void> Worker::Run() { return impl_->Run(); }
void Worker::Change(WorkerChange change) { impl_->Change(std::move(change)); }
void Worker::Drain() { impl_->Drain(); }

}  // namespace allotter

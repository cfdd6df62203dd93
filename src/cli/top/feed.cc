// SPDX-License-Identifier: Apache-2.0
#include "cli/top/feed.h"

#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/text/worker_text.h"

namespace allot::cli::top {

Feed::Feed(allotter::ConnectionOptions options, int wake_fd) : options_(std::move(options)), wake_fd_(wake_fd) {
  sigset_t blocked, before;
  ::sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  for (Slot& slot : slots_) slot.thread = std::thread([this, &slot] { Follow(slot); });
  worker_ = std::thread([this] { Work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Feed::~Feed() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Slot& slot : slots_) {
      if (slot.view) slot.view->Stop();
    }
  }
  changed_.notify_all();
  for (Slot& slot : slots_) slot.thread.join();
  worker_.join();
}

void Feed::Wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void Feed::Watch(const Watched& watched) {
  const std::string* const paths[kSlots] = {&watched.overview, &watched.table, &watched.detail};
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[i];
    if (slot.path == *paths[i]) continue;
    slot.path = *paths[i];
    slot.begun = false;
    slot.fresh = false;
    if (slot.view) slot.view->Stop();
  }
  changed_.notify_all();
}

void Feed::Do(Command command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  changed_.notify_all();
}

std::vector<News> Feed::TakeNews() {
  const std::lock_guard lock(mutex_);
  std::vector<News> out;
  for (Slot& slot : slots_) {
    if (slot.fresh) out.push_back(std::exchange(slot.news, {}));
    slot.fresh = false;
  }
  return out;
}

std::vector<Outcome> Feed::TakeOutcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

void Feed::Follow(Slot& slot) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !slot.begun; });
    if (stopping_) return;
    slot.begun = true;
    const std::string path = slot.path;
    if (path.empty()) continue;
    const auto post = [&](const auto& put) {
      {
        const std::lock_guard inner(mutex_);
        if (slot.path != path) return;  // nobody looks at it any more
        if (!slot.fresh) slot.news = {.path = path};
        put(slot.news);
        slot.fresh = true;
      }
      Wake();
    };
    auto opened = allotter::LiveView::Open(options_, path);
    if (!opened) {
      lock.unlock();
      post([&](News& news) { news.refused = opened.error(); });
      lock.lock();
      continue;
    }
    const auto view = std::make_shared<allotter::LiveView>(std::move(*opened));
    slot.view = view;
    lock.unlock();
    auto ran =
        view->Run({.on_view =
                       [&](const std::string& json) {
                         post([&](News& news) {
                           news.json = json;
                           news.lost.reset();
                         });
                       },
                   .on_lost = [&](const allotter::Error& error) { post([&](News& news) { news.lost = error; }); }});
    if (!ran) post([&](News& news) { news.refused = ran.error(); });
    lock.lock();
    slot.view.reset();
  }
}

void Feed::Work() {
  std::optional<allotter::Client> client;
  for (;;) {
    Command command;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !commands_.empty(); });
      if (stopping_) return;
      command = std::move(commands_.front());
      commands_.pop_front();
    }
    Outcome outcome{.command = command};
    if (!client || client->options().queue != command.queue) {
      allotter::ConnectionOptions options = options_;
      options.queue = command.queue;
      auto opened = allotter::Client::Open(std::move(options));
      if (opened) {
        client.emplace(std::move(*opened));
      } else {
        client.reset();
        outcome.error = opened.error();
      }
    }
    if (client) outcome = Carry(*client, command);
    {
      const std::lock_guard lock(mutex_);
      outcomes_.push_back(std::move(outcome));
    }
    Wake();
  }
}

Outcome Carry(allotter::Client& client, const Command& command) {
  Outcome outcome{.command = command};
  // Takes what came, or why nothing did.
  const auto take = [&](auto result, const auto& use) {
    if (result) {
      use(*result);
    } else {
      outcome.error = result.error();
    }
  };
  const auto job = [&](const allotter::Job& changed) { outcome.text = "job " + changed.id + " is " + changed.state; };
  const auto queue = [&](const allotter::Queue& changed) {
    outcome.text = "queue " + changed.name + (changed.paused ? " is paused" : " goes on");
  };
  switch (command.kind) {
    case CommandKind::kQuit:
      break;
    case CommandKind::kPauseJob:
      take(client.jobs().Pause(command.id), job);
      break;
    case CommandKind::kResumeJob:
      take(client.jobs().Resume(command.id), job);
      break;
    case CommandKind::kCancelJob:
      take(client.jobs().Cancel(command.id), job);
      break;
    case CommandKind::kDrainWorker:
      take(client.workers().Drain(command.id), [&](const allotter::WorkerInfo& worker) {
        outcome.text = "worker " + worker.id + " is " + StateOf(worker);
      });
      break;
    case CommandKind::kPauseQueue:
      take(client.queues().Pause(command.queue), queue);
      break;
    case CommandKind::kResumeQueue:
      take(client.queues().Resume(command.queue), queue);
      break;
    case CommandKind::kCountMany:
    case CommandKind::kCancelMany:
      take(client.jobs().ChangeMany(allotter::JobAction::kCancel, command.many),
           [&](const allotter::ManyJobsAnswer& answer) {
             outcome.many = answer;
             outcome.text = FormatCount(answer.changed) + (answer.changed == 1 ? " job" : " jobs") + " cancelled";
             if (!answer.complete) outcome.text += "; there are more: ask again";
           });
      break;
    case CommandKind::kNextOfWorker:
      take(client.workers().Next(command.id), [&](const allotter::WorkerOutlook& next) { outcome.next = next; });
      break;
    case CommandKind::kHistory:
      take(client.stats().History(), [&](const allotter::History& history) { outcome.history = history; });
      break;
  }
  return outcome;
}

}  // namespace allot::cli::top

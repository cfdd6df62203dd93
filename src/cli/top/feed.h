// SPDX-License-Identifier: Apache-2.0
// What `allot top` hears from the server: views that are followed, each on a thread of its own, and commands, one after
// the other on another.
//
// Threading: all of it is for the thread that draws; what came is taken by Take(). Signals are blocked on the others,
// so that handlers run there alone.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "allotter/client.h"
#include "allotter/live.h"
#include "cli/top/model.h"

namespace allot::cli::top {

// What came of one view since the last time: of several, the newest.
struct News {
  std::string path;
  std::optional<std::string> json = {};
  std::optional<allotter::Error> lost = {};     // it is tried again
  std::optional<allotter::Error> refused = {};  // it is not
};

class Feed {
 public:
  // Writes to `wake_fd`, an event descriptor, whenever there is something to take.
  Feed(allotter::ConnectionOptions options, int wake_fd);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // From now on these; what is the same goes on.
  void Watch(const Watched& watched);
  void Do(Command command);
  std::vector<News> TakeNews();
  std::vector<Outcome> TakeOutcomes();

 private:
  static constexpr std::size_t kSlots = 3;
  struct Slot {
    std::string path;
    std::shared_ptr<allotter::LiveView> view;  // of that path, while it runs
    bool begun = true;                         // its thread knows of the path
    News news;
    bool fresh = false;
    std::thread thread;
  };

  void Follow(Slot& slot);
  void Work();
  void Wake() const;

  const allotter::ConnectionOptions options_;
  const int wake_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::array<Slot, kSlots> slots_;
  std::deque<Command> commands_;
  std::vector<Outcome> outcomes_;
  std::thread worker_;
};

// Does it, with a client of the command's queue.
Outcome Carry(allotter::Client& client, const Command& command);

}  // namespace allot::cli::top

// SPDX-License-Identifier: Apache-2.0
// What `allot top` knows, and what whoever sits before it has chosen.
//
// Everything that is shown comes out of here (render.h), and everything that a key does changes this or is a Command
// (keys.h): no terminal and no server is needed for either.
// Threading: confined to the thread that draws.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allotter/live.h"
#include "cli/text/progress.h"

namespace allot::cli::top {

enum class Tab { kJobs, kWorkers, kReasons, kUsers, kLimits };
inline constexpr std::size_t kTabs = 5;
inline constexpr std::array<std::string_view, kTabs> kTabNames = {"jobs", "workers", "reasons", "users", "limits"};

// Rows of one page of a list.
inline constexpr std::size_t kPageRows = 100;
// How many ticks, of a second each, the status line is there.
inline constexpr int kStatusTicks = 10;

struct Size {
  int width = 80, height = 24;
};

// Which rows are shown. `state:`, `user:` and `tag:` look at that field; any other word may be anywhere in the row.
struct Filter {
  std::string text;                                              // as it was typed
  std::vector<std::pair<std::string, std::string>> fields = {};  // state, user, tag
  std::vector<std::string> words = {};                           // in small letters
  // The first of each field.
  std::string Field(std::string_view name) const;
};
// Never fails: a word that is no field is a word.
Filter ParseFilter(std::string_view text);
// None, or why the server would refuse it for jobs: there is no such state.
std::optional<std::string> FilterFault(const Filter& filter);

enum class CommandKind {
  kQuit,
  kPauseJob,
  kResumeJob,
  kCancelJob,
  kDrainWorker,
  kPauseQueue,
  kResumeQueue,
  kCountMany,   // how many jobs would be cancelled
  kCancelMany,  // cancels them
  kNextOfWorker,
  kHistory,
};

// For the server to do.
struct Command {
  CommandKind kind = CommandKind::kQuit;
  std::string queue = {}, id = {};
  allotter::ManyJobs many = {};
};

// What came of one.
struct Outcome {
  Command command;
  std::optional<allotter::Error> error = {};
  std::string text = {};  // for the status line
  std::optional<allotter::ManyJobsAnswer> many = {};
  std::optional<allotter::WorkerOutlook> next = {};
  std::optional<allotter::History> history = {};
};

enum class Connection { kConnecting, kLive, kLost };

// What is laid over the table.
enum class Overlay { kNone, kHelp, kJob, kWorker, kQueues };

struct TabState {
  int sort = -1;  // a column; -1: as the server has it
  bool reverse = false;
  std::string selected;  // an id
  std::size_t at = 0;    // where that was
  std::size_t top = 0;   // the first row that is shown
  Filter filter;
  std::vector<std::string> pages;  // keys of the pages before this one, and of this one; empty: the first
  std::string refused;             // why the server does not show it
};

struct Model {
  std::string server, queue = "default";
  bool unicode = true;
  std::int64_t now_ms = 0;
  Connection connection = Connection::kConnecting;
  std::string lost_why;
  bool frozen = false;

  // What came, as it came.
  std::optional<allotter::Overview> overview;
  std::optional<allotter::History> history;
  std::optional<allotter::JobPage> jobs;
  std::optional<allotter::WorkerPage> workers;
  std::optional<allotter::UserPage> users;
  std::optional<std::vector<allotter::Limit>> limits;
  std::vector<allotter::Queue> queues;
  std::map<std::string, RateMeter> rates;  // of the jobs of this page

  Tab tab = Tab::kJobs;
  std::array<TabState, kTabs> tabs;
  TabState& state() { return tabs[static_cast<std::size_t>(tab)]; }
  const TabState& state() const { return tabs[static_cast<std::size_t>(tab)]; }

  Overlay overlay = Overlay::kNone;
  std::string overlay_id;  // the job's, the worker's; of queues: the one that is chosen
  std::size_t overlay_top = 0;
  std::optional<allotter::Explanation> explanation;
  std::optional<allotter::WorkerInfo> worker;
  std::optional<allotter::WorkerOutlook> next;
  std::string overlay_error;

  std::optional<std::string> typing;  // the filter, while it is typed
  std::optional<Command> confirm;     // to be done if the answer is yes
  std::string question;
  std::string status;  // what came of the last action; for a while
  bool status_bad = false;
  int status_ticks = 0;  // left of it

  // How much fits, as of the last Settle().
  std::size_t table_rows = 0, overlay_rows = 0, overlay_lines = 0;

  void Say(std::string text, bool bad = false) {
    status = std::move(text);
    status_bad = bad;
    status_ticks = kStatusTicks;
  }
};

// What is to be followed now; an empty path: nothing.
struct Watched {
  std::string overview, table, detail;
  bool operator==(const Watched&) const = default;
};
Watched WatchedOf(const Model& model);

// Takes over what a view showed; the path says which. What is not of the protocol is told in the status line.
void Apply(Model& model, const std::string& path, const std::string& json);
// The server refused that view for good.
void Refuse(Model& model, const std::string& path, const allotter::Error& error);
void Apply(Model& model, const Outcome& outcome);
// Ages grow, and rates go down while nothing comes; unless it is frozen. About once a second.
void Tick(Model& model, std::int64_t now_ms, std::chrono::steady_clock::time_point now);
// Forgets all that was of another queue.
void SwitchQueue(Model& model, const std::string& queue);

}  // namespace allot::cli::top

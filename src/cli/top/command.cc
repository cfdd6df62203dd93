// SPDX-License-Identifier: Apache-2.0
// allot top: how a queue stands, live.
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/check.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/top/feed.h"
#include "cli/top/keys.h"
#include "cli/top/render.h"
#include "cli/top/screen.h"
#include "cli/top/tables.h"

namespace allot::cli {
namespace top {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHistoryEvery{5};
// For one answer: nobody who wants to leave should wait for a server that does not answer.
constexpr std::chrono::seconds kPatience{5};
constexpr int kLeastColumns = 20, kMostColumns = 1000;
constexpr int kLeastLines = 4, kMostLines = 1000;

struct Options {
  bool once = false;
  bool no_colour = false;
  int width = 0, height = 0;
  std::string tab = "jobs", sort, filter, interval = "1s";
};

// Of the window, for --once.
int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number > 0 ? number : otherwise;
}

// Where a signal is told: the handler may do no more than write there.
int signal_wake_fd = -1;
volatile sig_atomic_t interrupted = 0;

void OnSignal(int) {
  interrupted = 1;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(signal_wake_fd, &one, sizeof one);
}

// `rate`, or `-rate` for the other way round.
Result<void> ChooseSort(Model& model, std::string_view text) {
  if (text.empty()) return {};
  TabState& state = model.state();
  state.reverse = text.starts_with('-');
  if (state.reverse) text.remove_prefix(1);
  const auto columns = ColumnsOfTab(model.tab);
  std::string known;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].key == text) state.sort = static_cast<int>(i);
    known += (i == 0 ? "" : " ") + std::string(columns[i].key);
  }
  if (state.sort < 0)
    return Error{Code::kBadValue, "there is no column `" + std::string(text) + "` to sort by", "it is one of " + known};
  return {};
}

Result<Model> Begin(const Options& options, const allotter::Client& client) {
  Model model;
  model.server = client.options().server;
  model.queue = client.options().queue;
  model.unicode = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  model.now_ms = NowMillis();
  const auto tab = std::find(kTabNames.begin(), kTabNames.end(), options.tab);
  CHECK(tab != kTabNames.end());
  model.tab = static_cast<Tab>(tab - kTabNames.begin());
  model.state().filter = ParseFilter(options.filter);
  if (model.tab == Tab::kJobs) {
    if (const auto fault = FilterFault(model.state().filter)) return Error{Code::kBadValue, *fault, ""};
  }
  if (auto sorted = ChooseSort(model, options.sort); !sorted) return sorted.error();
  return model;
}

// What is there now, by plain requests. What is not shown to this token is told in its place.
Result<void> Fetch(Model& model, allotter::Client& client) {
  const Watched watched = WatchedOf(model);
  auto overview = client.Call("GET", watched.overview);
  if (!overview) return overview.error();
  Apply(model, watched.overview, *overview);
  Apply(model, Carry(client, {.kind = CommandKind::kHistory, .queue = model.queue}));
  if (watched.table.empty()) return {};
  auto table = client.Call("GET", watched.table);
  if (table) {
    Apply(model, watched.table, *table);
  } else {
    Refuse(model, watched.table, table.error());
  }
  return {};
}

void Take(Model& model, Feed& feed) {
  // What came while it was frozen waits, and only the newest of it.
  if (!model.frozen) {
    for (const News& news : feed.TakeNews()) {
      if (news.json) Apply(model, news.path, *news.json);
      if (news.refused) Refuse(model, news.path, *news.refused);
      if (news.lost && news.path == WatchedOf(model).overview) {
        model.connection = Connection::kLost;
        model.lost_why = news.lost->message;
      }
    }
  }
  for (const Outcome& outcome : feed.TakeOutcomes()) Apply(model, outcome);
}

Result<void> Live(Model model, const Options& options, const allotter::ConnectionOptions& connection,
                  std::chrono::milliseconds interval) {
  signal_wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(signal_wake_fd >= 0);
  allotter::ConnectionOptions patient = connection;
  patient.timeout = std::min<std::chrono::milliseconds>(patient.timeout, kPatience);
  Feed feed(std::move(patient), signal_wake_fd);
  auto screen = Screen::Open(!options.no_colour && StdoutStyle().colour);
  if (!screen) return screen.error();
  // After ncurses, which would end the program in its own way.
  struct sigaction action {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(signal, &action, nullptr);

  Clock::time_point drawn{}, asked{}, ticked{};
  bool draw = true, quit = false;
  while (!quit && interrupted == 0) {
    const auto now = Clock::now();
    if (now - ticked >= std::chrono::seconds(1)) {
      ticked = now;
      Tick(model, NowMillis(), now);
      draw = true;
    }
    if (now - asked >= kHistoryEvery && !model.frozen && model.connection == Connection::kLive) {
      asked = now;
      feed.Do({.kind = CommandKind::kHistory, .queue = model.queue});
    }
    bool resized = false;
    while (const auto key = (*screen)->Read(resized)) {
      Settle(model, (*screen)->size());
      for (Command& command : OnKey(model, *key)) {
        if (command.kind == CommandKind::kQuit) quit = true;
        if (!quit) feed.Do(std::move(command));
      }
      drawn = {};  // at once
      draw = true;
    }
    feed.Watch(WatchedOf(model));
    if (resized) drawn = {};
    if ((draw || resized) && now - drawn >= interval) {
      Take(model, feed);
      Settle(model, (*screen)->size());
      (*screen)->Draw(Render(model, (*screen)->size()));
      drawn = Clock::now();
      draw = false;
    }
    // Until a key, something to take (no sooner than it may be drawn), or the next second.
    const auto until =
        draw ? std::min(drawn + interval, ticked + std::chrono::seconds(1)) : ticked + std::chrono::seconds(1);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd pollers[] = {{STDIN_FILENO, POLLIN, 0}, {signal_wake_fd, POLLIN, 0}};
    const int ready = ::poll(pollers, 2, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready > 0 && pollers[1].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(signal_wake_fd, &count, sizeof count);
      draw = true;
    }
    if (ready > 0 && (pollers[0].revents & (POLLHUP | POLLERR)) != 0) quit = true;  // the terminal is gone
  }
  return {};
}

Result<void> Run(const Context& context, Options& options, allotter::Client& client) {
  std::setlocale(LC_CTYPE, "");
  const auto interval = ParseDuration(options.interval);
  if (!interval || *interval < std::chrono::seconds(1) || *interval > std::chrono::hours(1)) {
    return Error{Code::kBadValue, "`" + options.interval + "` is no interval", "from 1s to 1h"};
  }
  if (context.format != Format::kTable) return Error{Code::kBadValue, "top is for people: there is no -o for it", ""};
  if (!options.once && (!StdoutStyle().terminal || ::isatty(STDIN_FILENO) != 1)) {
    return Error{Code::kBadValue, "top needs a terminal", "`allot top --once` prints one screen as text"};
  }
  auto model = Begin(options, client);
  if (!model) return model.error();
  // Whoever cannot be reached, or does not know the queue, says so before the screen is taken.
  if (auto fetched = Fetch(*model, client); !fetched) return fetched.error();
  if (!options.once) {
    return Live(std::move(*model), options, client.options(),
                std::chrono::duration_cast<std::chrono::milliseconds>(*interval));
  }
  Size size{options.width > 0 ? options.width : FromEnvironment("COLUMNS", TerminalColumns()),
            options.height > 0 ? options.height : FromEnvironment("LINES", 24)};
  size.width = std::clamp(size.width, kLeastColumns, kMostColumns);
  size.height = std::clamp(size.height, kLeastLines, kMostLines);
  Settle(*model, size);
  model->state().selected.clear();  // nobody is there to choose
  std::cout << Render(*model, size).Text(!options.no_colour && StdoutStyle().colour);
  return {};
}

}  // namespace
}  // namespace top

void AddTopCommand(CLI::App& app, Context& context) {
  CLI::App& command = *app.add_subcommand("top", "How the queue stands, live: jobs, workers, reasons, users, limits");
  auto options = std::make_shared<top::Options>();
  command.add_flag("--once", options->once, "Print one screen as text, and end");
  command.add_option("--tab", options->tab, "What to begin with: jobs, workers, reasons, users or limits")
      ->check(CLI::IsMember({"jobs", "workers", "reasons", "users", "limits"}))
      ->type_name("TAB");
  command.add_option("--sort", options->sort, "The column to sort by; -COLUMN for the other way round")
      ->type_name("COLUMN");
  command.add_option("--filter", options->filter, "state:, user:, tag:, and words: `state:active render`")
      ->type_name("TEXT");
  command.add_option("--interval", options->interval, "Show changes at most so often; at least 1s")
      ->type_name("DURATION");
  command.add_option("--width", options->width, "Columns, for --once (COLUMNS; 80)")->type_name("N");
  command.add_option("--height", options->height, "Lines, for --once (LINES; 24)")->type_name("N");
  command.add_flag("--no-color", options->no_colour, "Without colours, as with NO_COLOR");
  OnRun(command, context, [&context, options](allotter::Client& client) -> Result<void> {
    auto ran = top::Run(context, *options, client);
    if (ran && top::interrupted != 0) context.exit_code = ExitCode::kInterrupted;
    return ran;
  });
}

}  // namespace allot::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keys.h"

#include <algorithm>

#include "cli/top/grid.h"
#include "cli/top/tables.h"

namespace allot::cli::top {
namespace {

using Kind = Key::Kind;
using Commands = std::vector<Command>;

constexpr std::size_t kMostTyped = 512;  // bytes

void Ask(Model& model, Command command, std::string question) {
  model.confirm = std::move(command);
  model.question = std::move(question);
}

Commands OnAnswer(Model& model, Key key) {
  Command command = std::move(*model.confirm);
  model.confirm.reset();
  if (key.kind == Kind::kChar && (key.c == U'y' || key.c == U'Y')) return {std::move(command)};
  model.Say("left as it is");
  return {};
}

Commands OnTyping(Model& model, Key key) {
  std::string& text = *model.typing;
  switch (key.kind) {
    case Kind::kEnter: {
      Filter filter = ParseFilter(text);
      model.typing.reset();
      if (model.tab == Tab::kJobs) {
        if (const auto fault = FilterFault(filter)) {
          model.Say(*fault, true);
          return {};
        }
      }
      TabState& state = model.state();
      state.filter = std::move(filter);
      state.pages.clear();
      state.at = state.top = 0;
      state.selected.clear();
      return {};
    }
    case Kind::kEscape:
      model.typing.reset();
      return {};
    case Kind::kBackspace:
      if (text.empty()) {
        model.typing.reset();
        return {};
      }
      // A whole character.
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
      if (!text.empty()) text.pop_back();
      return {};
    case Kind::kChar:
      if (key.c == 0x15) {  // Ctrl-U
        text.clear();
      } else if (key.c >= 0x20 && key.c != 0x7F && text.size() < kMostTyped) {
        text += Utf8(std::u32string(1, key.c));
      }
      return {};
    default:
      return {};
  }
}

void Close(Model& model) {
  model.overlay = Overlay::kNone;
  model.overlay_id.clear();
  model.overlay_top = 0;
  model.overlay_error.clear();
}

void Open(Model& model, Overlay overlay, std::string id) {
  Close(model);
  model.overlay = overlay;
  model.overlay_id = std::move(id);
  model.explanation.reset();
  model.worker.reset();
  model.next.reset();
}

// Moves a place in 0 … last. False for a key that does not move.
bool Move(Key key, std::size_t& at, std::size_t last, std::size_t page) {
  page = std::max<std::size_t>(1, page);
  const bool up = key.kind == Kind::kUp || (key.kind == Kind::kChar && key.c == U'k');
  const bool down = key.kind == Kind::kDown || (key.kind == Kind::kChar && key.c == U'j');
  if (up) {
    at -= std::min<std::size_t>(at, 1);
  } else if (down) {
    at = std::min(last, at + 1);
  } else if (key.kind == Kind::kPageUp) {
    at -= std::min(at, page);
  } else if (key.kind == Kind::kPageDown) {
    at = std::min(last, at + page);
  } else if (key.kind == Kind::kHome || (key.kind == Kind::kChar && key.c == U'g')) {
    at = 0;
  } else if (key.kind == Kind::kEnd || (key.kind == Kind::kChar && key.c == U'G')) {
    at = last;
  } else {
    return false;
  }
  return true;
}

Commands OnOverlay(Model& model, Key key) {
  if (key.kind == Kind::kChar && key.c == U'q') return {{.kind = CommandKind::kQuit}};
  if (model.overlay == Overlay::kQueues && !model.queues.empty()) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < model.queues.size(); ++i) {
      if (model.queues[i].name == model.overlay_id) at = i;
    }
    if (Move(key, at, model.queues.size() - 1, model.overlay_rows)) {
      model.overlay_id = model.queues[at].name;
      return {};
    }
    if (key.kind == Kind::kEnter) {
      const std::string name = model.queues[at].name;
      Close(model);
      if (name != model.queue) SwitchQueue(model, name);
      return {};
    }
  }
  const std::size_t last = model.overlay_lines - std::min(model.overlay_lines, model.overlay_rows);
  if (model.overlay != Overlay::kQueues && Move(key, model.overlay_top, last, model.overlay_rows)) return {};
  // Whatever opened it closes it, too.
  if (key.kind == Kind::kEscape || key.kind == Kind::kEnter ||
      (key.kind == Kind::kChar && (key.c == U'e' || key.c == U'?' || key.c == U'Q'))) {
    Close(model);
  }
  return {};
}

Commands Explain(Model& model) {
  const std::string id = model.state().selected;
  if (model.tab == Tab::kJobs && !id.empty()) Open(model, Overlay::kJob, id);
  if (model.tab == Tab::kWorkers && !id.empty()) {
    Open(model, Overlay::kWorker, id);
    return {{.kind = CommandKind::kNextOfWorker, .queue = model.queue, .id = id}};
  }
  if (model.tab == Tab::kReasons && model.overview) {
    for (const auto& reason : model.overview->reasons) {
      if (reason.code != id) continue;
      if (reason.job.empty()) {
        model.Say("which jobs these are is not shown to this token", true);
      } else {
        Open(model, Overlay::kJob, reason.job);
      }
      break;
    }
  }
  if (model.tab == Tab::kUsers && !id.empty()) {
    // A user's jobs say more than a number.
    model.tab = Tab::kJobs;
    TabState& state = model.state();
    state.filter = ParseFilter(id.find(' ') == std::string::npos ? "user:" + id : id);
    state.pages.clear();
    state.selected.clear();
  }
  return {};
}

Commands OnJob(Model& model, char32_t c) {
  const allotter::Job* job = model.tab == Tab::kJobs ? FindJob(model, model.state().selected) : nullptr;
  if (job == nullptr) {
    model.Say("choose a job first: 1 shows them", true);
    return {};
  }
  if (job->ended()) {
    model.Say("job " + job->id + " has ended: it is " + job->state, true);
    return {};
  }
  if (c == U'p') {
    return {
        {.kind = job->paused ? CommandKind::kResumeJob : CommandKind::kPauseJob, .queue = model.queue, .id = job->id}};
  }
  Ask(model, {.kind = CommandKind::kCancelJob, .queue = model.queue, .id = job->id}, "cancel job " + job->id + "?");
  return {};
}

Commands CancelAll(Model& model) {
  const Filter& filter = model.tabs[static_cast<std::size_t>(Tab::kJobs)].filter;
  if (model.tab != Tab::kJobs || filter.fields.empty()) {
    model.Say("filter jobs first, by state:, user: or tag:", true);
    return {};
  }
  // The server knows one value of each field and no words: what is shown would be less than what is cancelled.
  for (std::size_t i = 0; i < filter.fields.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (filter.fields[k].first == filter.fields[i].first) {
        model.Say("all jobs of one " + filter.fields[i].first + " can be cancelled, not of two at once", true);
        return {};
      }
    }
  }
  if (!filter.words.empty()) {
    model.Say("take the words out of the filter first: only state:, user: and tag: choose what is cancelled", true);
    return {};
  }
  allotter::ManyJobs many{.state = filter.Field("state"), .tag = filter.Field("tag"), .user = filter.Field("user")};
  many.dry_run = true;
  model.Say("counting…");
  return {{.kind = CommandKind::kCountMany, .queue = model.queue, .many = std::move(many)}};
}

void NextSort(Model& model) {
  TabState& state = model.state();
  const auto columns = static_cast<int>(ColumnsOfTab(model.tab).size());
  state.sort = state.sort + 1 >= columns ? -1 : state.sort + 1;
  state.reverse = false;
  if (state.sort < 0) model.Say("in the server's order");
}

void Page(Model& model, bool further) {
  TabState& state = model.state();
  std::string next;
  if (model.tab == Tab::kJobs && model.jobs) next = model.jobs->next;
  if (model.tab == Tab::kWorkers && model.workers) next = model.workers->next;
  if (model.tab == Tab::kUsers && model.users) next = model.users->next;
  if (further && next.empty()) {
    model.Say("that is all");
    return;
  }
  if (!further && state.pages.empty()) {
    model.Say("that is the first page");
    return;
  }
  // Not the same page twice, while it is on its way.
  if (further && !state.pages.empty() && state.pages.back() == next) return;
  if (further) {
    state.pages.push_back(std::move(next));
  } else {
    state.pages.pop_back();
  }
  state.selected.clear();
  state.at = state.top = 0;
}

void Turn(Model& model, std::size_t tab) { model.tab = static_cast<Tab>(tab % kTabs); }

Commands OnTable(Model& model, Key key) {
  TabState& state = model.state();
  const Table table = BuildTable(model);
  std::size_t at = state.at;
  if (!table.lines.empty() && Move(key, at, table.lines.size() - 1, model.table_rows)) {
    state.at = at;
    state.selected = table.lines[at].id;
    return {};
  }
  if (key.kind == Kind::kTab) Turn(model, static_cast<std::size_t>(model.tab) + 1);
  if (key.kind == Kind::kBackTab) Turn(model, static_cast<std::size_t>(model.tab) + kTabs - 1);
  if (key.kind == Kind::kEnter) return Explain(model);
  if (key.kind != Kind::kChar) return {};
  switch (key.c) {
    case U'q':
      return {{.kind = CommandKind::kQuit}};
    case U'1':
    case U'2':
    case U'3':
    case U'4':
    case U'5':
      Turn(model, key.c - U'1');
      return {};
    case U'?':
    case U'h':
      Open(model, Overlay::kHelp, "");
      return {};
    case U'e':
      return Explain(model);
    case U's':
      NextSort(model);
      return {};
    case U'r':
      state.reverse = !state.reverse;
      return {};
    case U'/':
      model.typing = state.filter.text;
      return {};
    case U'+':
    case U'n':
      Page(model, true);
      return {};
    case U'-':
    case U'N':
      Page(model, false);
      return {};
    case U'p':
    case U'c':
      return OnJob(model, key.c);
    case U'C':
      return CancelAll(model);
    case U'd': {
      const allotter::WorkerInfo* worker = model.tab == Tab::kWorkers ? FindWorker(model, state.selected) : nullptr;
      if (worker == nullptr) {
        model.Say("choose a worker first: 2 shows them", true);
      } else if (worker->draining) {
        model.Say("worker " + worker->id + " drains already");
      } else {
        Ask(model, {.kind = CommandKind::kDrainWorker, .queue = model.queue, .id = worker->id},
            "drain worker " + (worker->name.empty() ? worker->id : worker->name) + "?");
      }
      return {};
    }
    case U'P': {
      if (!model.overview) return {};
      const bool paused = model.overview->queue.paused;
      Ask(model, {.kind = paused ? CommandKind::kResumeQueue : CommandKind::kPauseQueue, .queue = model.queue},
          (paused ? "resume queue " : "pause queue ") + model.queue + "?");
      return {};
    }
    case U'Q':
      Open(model, Overlay::kQueues, model.queue);
      return {};
    case U't':
    case U' ':
      model.frozen = !model.frozen;
      return {};
    default:
      return {};
  }
}

}  // namespace

std::vector<Command> OnKey(Model& model, Key key) {
  model.Say("");
  if (model.confirm) return OnAnswer(model, key);
  if (model.typing) return OnTyping(model, key);
  if (model.overlay != Overlay::kNone) return OnOverlay(model, key);
  return OnTable(model, key);
}

}  // namespace allot::cli::top

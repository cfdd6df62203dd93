// SPDX-License-Identifier: Apache-2.0
#include "cli/top/tables.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/text/limit_text.h"
#include "cli/text/worker_text.h"

namespace allot::cli::top {
namespace {

constexpr Column kJobColumns[] = {
    {.key = "id", .title = "ID", .least = 6, .most = 20, .keep = 10, .downward = true, .whole = true},
    {.key = "state", .title = "STATE", .least = 9, .most = 9, .keep = 8},
    {.key = "user", .title = "USER", .least = 5, .most = 14, .keep = 6},
    {.key = "tags", .title = "TAGS", .least = 5, .most = 22, .keep = 5},
    {.key = "tasks", .title = "TASKS", .least = 5, .most = 13, .keep = 1, .right = true, .downward = true},
    {.key = "progress", .title = "PROGRESS", .least = 10, .most = 30, .keep = 9, .downward = true},
    {.key = "percent", .title = "%", .least = 4, .most = 4, .keep = 7, .right = true, .downward = true},
    {.key = "rate", .title = "RATE", .least = 6, .most = 8, .keep = 4, .right = true, .downward = true},
    {.key = "left", .title = "LEFT", .least = 6, .most = 8, .keep = 3, .right = true, .downward = true},
    {.key = "held", .title = "HELD BY", .least = 9, .most = 48, .keep = 2},
};
constexpr Column kWorkerColumns[] = {
    {.key = "id", .title = "ID", .least = 6, .most = 20, .keep = 5, .whole = true},
    {.key = "name", .title = "NAME", .least = 6, .most = 24, .keep = 10},
    {.key = "state", .title = "STATE", .least = 8, .most = 9, .keep = 9},
    {.key = "slots", .title = "SLOTS", .least = 6, .most = 9, .keep = 8, .right = true, .downward = true},
    {.key = "busy", .title = "IN USE", .least = 6, .most = 16, .keep = 7, .downward = true},
    {.key = "tags", .title = "TAGS", .least = 5, .most = 24, .keep = 6},
    {.key = "promised", .title = "PROMISED", .least = 8, .most = 9, .keep = 4, .right = true, .downward = true},
    {.key = "since", .title = "SINCE", .least = 6, .most = 8, .keep = 3, .right = true},
    {.key = "user", .title = "USER", .least = 5, .most = 14, .keep = 1},
    {.key = "strategy", .title = "STRATEGY", .least = 8, .most = 40, .keep = 2},
};
constexpr Column kReasonColumns[] = {
    {.key = "code", .title = "REASON", .least = 10, .most = 24, .keep = 10},
    {.key = "kind", .title = "WHAT TO DO", .least = 10, .most = 18, .keep = 7},
    {.key = "tasks", .title = "TASKS", .least = 6, .most = 13, .keep = 9, .right = true, .downward = true},
    {.key = "jobs", .title = "JOBS", .least = 5, .most = 11, .keep = 8, .right = true, .downward = true},
    {.key = "ways", .title = "WAYS", .least = 4, .most = 6, .keep = 1, .right = true, .downward = true},
    {.key = "since", .title = "SINCE", .least = 6, .most = 8, .keep = 6, .right = true, .downward = true},
    {.key = "job", .title = "FOR EXAMPLE", .least = 6, .most = 20, .keep = 5, .whole = true},
    {.key = "tags", .title = "TAGS, OR STOPPED BY", .least = 5, .most = 40, .keep = 4},
};
constexpr Column kUserColumns[] = {
    {.key = "user", .title = "USER", .least = 5, .most = 20, .keep = 10},
    {.key = "share", .title = "SHARE", .least = 5, .most = 5, .keep = 8, .right = true, .downward = true},
    {.key = "use", .title = "USE", .least = 5, .most = 5, .keep = 9, .right = true, .downward = true},
    {.key = "bar", .title = "USE│SHARE", .least = 9, .most = 30, .keep = 7, .downward = true},
    {.key = "weight", .title = "WEIGHT", .least = 6, .most = 8, .keep = 1, .right = true, .downward = true},
    {.key = "jobs", .title = "JOBS", .least = 5, .most = 11, .keep = 2, .right = true, .downward = true},
    {.key = "queued", .title = "QUEUED", .least = 7, .most = 13, .keep = 6, .right = true, .downward = true},
    {.key = "running", .title = "RUNNING", .least = 7, .most = 11, .keep = 5, .right = true, .downward = true},
    {.key = "retrying", .title = "RETRYING", .least = 8, .most = 11, .keep = 2, .right = true, .downward = true},
    {.key = "starts", .title = "STARTS/S", .least = 8, .most = 8, .keep = 3, .right = true, .downward = true},
    {.key = "waited", .title = "P95 WAIT", .least = 8, .most = 8, .keep = 4, .right = true, .downward = true},
    {.key = "oldest", .title = "OLDEST", .least = 6, .most = 8, .keep = 3, .right = true, .downward = true},
};
constexpr Column kLimitColumns[] = {
    {.key = "limit", .title = "LIMIT", .least = 8, .most = 28, .keep = 10},
    {.key = "rate", .title = "RATE", .least = 6, .most = 12, .keep = 7, .right = true},
    {.key = "tokens", .title = "LEVEL", .least = 6, .most = 10, .keep = 8, .right = true, .downward = true},
    {.key = "level", .title = "OF BURST AND COUNT", .least = 10, .most = 24, .keep = 9, .downward = true},
    {.key = "waiting", .title = "WAITING", .least = 7, .most = 9, .keep = 6, .right = true, .downward = true},
    {.key = "pays", .title = "CAN PAY", .least = 7, .most = 9, .keep = 5, .right = true, .downward = true},
    {.key = "expires", .title = "EXPIRES", .least = 7, .most = 8, .keep = 3, .right = true},
    {.key = "allowed", .title = "STARTS", .least = 6, .most = 11, .keep = 2, .right = true, .downward = true},
    {.key = "expr", .title = "APPLIES TO", .least = 8, .most = 60, .keep = 4},
};

std::string Duration(double ms) {
  return FormatDuration(std::chrono::milliseconds(static_cast<std::int64_t>(std::min(ms, 1e14))));
}

Field Count(std::uint64_t number) {
  return {.text = number == 0 ? "-" : FormatCount(number),
          .look = number == 0 ? kDim : Look{},
          .number = static_cast<double>(number)};
}

Field Age(std::optional<std::int64_t> at_ms, std::int64_t now_ms, std::string_view none = "-") {
  if (!at_ms || *at_ms == 0) return {.text = std::string(none), .look = kDim, .number = none == "-" ? -1 : 1e15};
  return {.text = AgeText(*at_ms, now_ms), .number = static_cast<double>(std::max<std::int64_t>(0, now_ms - *at_ms))};
}

Field Percent(double part) { return {.text = fmt::format("{:.0f}%", part * 100), .number = part}; }

// Codes as people read them.
std::string Spoken(std::string code) {
  std::replace(code.begin(), code.end(), '_', ' ');
  return code;
}

Look LookOfKind(std::string_view kind) {
  if (kind == "operator") return {.ink = Ink::kYellow};
  if (kind == "change_request") return {.ink = Ink::kRed};
  return {};
}

Field Held(const Model& model, const allotter::Job& job) {
  if (job.state == "failed") return {.text = job.reason, .look = {.ink = Ink::kRed}};
  if (!job.held) return {};
  std::string text = Spoken(job.held->code);
  if (job.held->since_at_ms) text += " " + AgeText(*job.held->since_at_ms, model.now_ms);
  return {.text = std::move(text), .look = LookOfKind(job.held->kind)};
}

Line JobLine(const Model& model, const allotter::Job& job) {
  const double count = static_cast<double>(job.count);
  const double ended = static_cast<double>(job.done + job.failed);  // what was skipped was not done
  const double part = job.count == 0 ? 1.0 : ended / count;
  double rate = 0;
  if (const auto meter = model.rates.find(job.id); meter != model.rates.end()) rate = meter->second.per_second();
  const bool moves = rate > 0.05 && !job.ended();
  Line line{.id = job.id, .fields = {}, .state = job.state, .user = job.user, .tags = job.tags};
  auto& out = line.fields;
  const auto id = std::strtoull(job.id.c_str(), nullptr, 10);
  out.push_back({.text = job.id, .number = static_cast<double>(id)});
  out.push_back({.text = job.state, .look = LookOfState(job.state)});
  out.push_back({.text = job.user.empty() ? "-" : job.user, .look = job.user.empty() ? kDim : Look{}});
  out.push_back({.text = Joined(job.tags)});
  out.push_back(Count(job.count));
  Field bar{.number = part};
  // What running tasks have done counts as done.
  const double half_done = std::min(job.progress.value_or(0), static_cast<double>(job.running));
  bar.bar = {{static_cast<double>(job.done) + half_done, "█", {.ink = Ink::kGreen}},
             {static_cast<double>(job.failed), "▓", {.ink = Ink::kRed}},
             {static_cast<double>(job.running) - half_done, "▒", {.ink = Ink::kBlue}},
             {static_cast<double>(job.queued + job.retrying), "░", kDim},
             {static_cast<double>(job.skipped), "·", kDim}};
  out.push_back(std::move(bar));
  // Never 100 % before the end.
  out.push_back({.text = fmt::format("{:.0f}%", std::floor(part * 100)), .number = part});
  out.push_back({.text = moves ? ShortNumber(rate) + "/s" : "", .number = moves ? rate : 0});
  const double left = moves ? (count - ended) / rate : -1;
  out.push_back({.text = moves && left < 1e8 ? Duration(std::ceil(left) * 1000) : "", .number = left});
  out.push_back(Held(model, job));
  return line;
}

Line WorkerLine(const Model& model, const allotter::WorkerInfo& worker) {
  const std::string state = StateOf(worker);
  Line line{.id = worker.id, .fields = {}, .state = state, .user = worker.user, .tags = worker.tags};
  auto& out = line.fields;
  out.push_back({.text = worker.id, .number = static_cast<double>(std::strtoull(worker.id.c_str(), nullptr, 10))});
  out.push_back({.text = worker.name.empty() ? "-" : worker.name});
  out.push_back({.text = state, .look = LookOfState(state)});
  out.push_back(
      {.text = fmt::format("{}/{}", worker.running, worker.slots), .number = static_cast<double>(worker.slots)});
  const double free = static_cast<double>(worker.slots) - static_cast<double>(worker.running);
  Field busy{.number = static_cast<double>(worker.running)};
  busy.bar = {{static_cast<double>(worker.running), "█", {.ink = Ink::kBlue}}, {std::max(0.0, free), "░", kDim}};
  out.push_back(std::move(busy));
  out.push_back({.text = Joined(worker.tags)});
  out.push_back(worker.promised ? Count(*worker.promised) : Field{.text = "-", .look = kDim, .number = -1});
  out.push_back(Age(worker.registered_at_ms, model.now_ms));
  out.push_back({.text = worker.user.empty() ? "-" : worker.user});
  out.push_back({.text = worker.strategy});
  return line;
}

// The limit or ceiling that stops the most; `…` if there are others.
std::string StopsText(const allotter::Overview::HeldBack& reason) {
  const bool several = reason.limits.size() + reason.ceilings.size() > 1;
  if (!reason.limits.empty()) {
    const auto& limit = reason.limits.front();
    return "limit " + (limit.name.empty() ? limit.tag : limit.name) + (several ? ", …" : "");
  }
  if (reason.ceilings.empty()) return "";
  const auto& ceiling = reason.ceilings.front();
  return fmt::format("{}={}: {} of {}{}", ceiling.key, ceiling.value, ceiling.running, ceiling.max,
                     several ? ", …" : "");
}

Line ReasonLine(const Model& model, const allotter::Overview::HeldBack& reason) {
  const std::string todo = reason.kind == "wait"             ? "wait"
                           : reason.kind == "operator"       ? "ask the operator"
                           : reason.kind == "change_request" ? "change the request"
                                                             : reason.kind;
  Line line{.id = reason.code, .fields = {}, .state = reason.kind, .tags = reason.tags};
  line.fields = {{.text = Spoken(reason.code), .look = LookOfKind(reason.kind)},
                 {.text = todo, .look = LookOfKind(reason.kind)},
                 Count(reason.tasks),
                 Count(reason.jobs),
                 Count(reason.classes),
                 Age(reason.since_at_ms, model.now_ms, "start"),
                 {.text = reason.job},
                 {.text = StopsText(reason).empty() ? Joined(reason.tags) : StopsText(reason)}};
  return line;
}

Line UserLine(const Model& model, const allotter::UserInfo& user) {
  Line line{.id = user.user, .fields = {}, .user = user.user};
  Field bar{.number = user.use - user.share, .mark = user.share};
  // More than its share while others wait for theirs is worth a look.
  const bool over = user.use > user.share + 0.05;
  bar.bar = {{user.use, "█", {.ink = over ? Ink::kYellow : Ink::kGreen}}, {std::max(0.0, 1 - user.use), "░", kDim}};
  line.fields = {{.text = user.user.empty() ? "-" : user.user},
                 Percent(user.share),
                 Percent(user.use),
                 bar,
                 {.text = fmt::format("{:g}", user.weight), .number = user.weight},
                 Count(user.jobs),
                 Count(user.queued),
                 Count(user.running),
                 Count(user.retrying),
                 {.text = ShortNumber(user.starts_per_s), .number = user.starts_per_s},
                 {.text = user.started == 0 ? "-" : Duration(user.waited_p95_ms), .number = user.waited_p95_ms},
                 Age(user.oldest_at_ms, model.now_ms)};
  return line;
}

Line LimitLine(const allotter::Limit& limit) {
  const std::string label = LimitLabel(limit.spec.name, limit.spec.tag);
  Line line{.id = limit.uuid, .fields = {}, .tags = {limit.spec.tag}};
  const double all = limit.spec.count + limit.spec.burst;
  const double level = all <= 0 ? 0 : std::clamp((limit.tokens + limit.spec.burst) / all, 0.0, 1.0);
  Field bar{.number = level, .mark = limit.spec.burst > 0 && all > 0 ? limit.spec.burst / all : -1};
  bar.bar = {{level, "█", {.ink = limit.tokens <= 0 ? Ink::kRed : Ink::kGreen}}, {1 - level, "░", kDim}};
  std::string pays = "-";
  if (limit.waiting > 0)
    pays = limit.payable_in_ms ? Duration(static_cast<double>(*limit.payable_in_ms)) : std::string("never");
  Field waiting = Count(limit.waiting);
  if (limit.waiting > 0) waiting.look = {.ink = Ink::kYellow};
  line.fields = {{.text = limit.spec.monitor ? label + " (monitor)" : label},
                 {.text = RateText(limit.spec)},
                 {.text = TokensText(limit.tokens), .number = limit.tokens},
                 bar,
                 waiting,
                 {.text = pays, .number = limit.payable_in_ms ? static_cast<double>(*limit.payable_in_ms) : -1},
                 {.text = Duration(static_cast<double>(limit.spec.expires_in.count())),
                  .number = static_cast<double>(limit.spec.expires_in.count())},
                 Count(limit.allowed),
                 {.text = limit.spec.expr}};
  return line;
}

std::string Lower(std::string text) {
  for (char& c : text) c = AsciiLower(c);
  return text;
}

bool Passes(const Filter& filter, const Line& line) {
  for (const auto& [field, value] : filter.fields) {
    if (field == "state" && line.state != value) return false;
    if (field == "user" && line.user != value) return false;
    if (field == "tag" && std::find(line.tags.begin(), line.tags.end(), value) == line.tags.end()) return false;
  }
  if (filter.words.empty()) return true;
  std::string all;
  for (const Field& field : line.fields) all += Lower(field.text) + "\n";
  return std::all_of(filter.words.begin(), filter.words.end(),
                     [&](const std::string& word) { return all.find(word) != std::string::npos; });
}

void Sort(const TabState& state, Table& table) {
  if (state.sort < 0 || static_cast<std::size_t>(state.sort) >= table.columns.size()) {
    if (state.reverse) std::reverse(table.lines.begin(), table.lines.end());
    return;
  }
  const auto at = static_cast<std::size_t>(state.sort);
  const bool down = table.columns[at].downward != state.reverse;
  const auto less = [at](const Line& a, const Line& b) {
    const Field &one = a.fields[at], &other = b.fields[at];
    if (one.number && other.number) return *one.number < *other.number;
    return one.text < other.text;
  };
  std::stable_sort(table.lines.begin(), table.lines.end(),
                   [&](const Line& a, const Line& b) { return down ? less(b, a) : less(a, b); });
}

}  // namespace

std::string ShortNumber(double number) {
  if (!(number >= 0)) return "-";
  if (number >= 1e9) return fmt::format("{:.1f}G", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.1f}M", number / 1e6);
  if (number >= 1e5) return fmt::format("{:.0f}k", number / 1e3);
  if (number >= 100) return FormatCount(static_cast<std::uint64_t>(std::llround(number)));
  return number == 0 ? "0" : fmt::format("{:.1f}", number);
}

Look LookOfState(std::string_view state) {
  switch (ColourOfState(state)) {
    case Colour::kRed:
      return {.ink = Ink::kRed};
    case Colour::kGreen:
      return {.ink = Ink::kGreen};
    case Colour::kYellow:
      return {.ink = Ink::kYellow};
    case Colour::kBlue:
      return {.ink = Ink::kBlue};
    case Colour::kDim:
      return kDim;
    case Colour::kNone:
    case Colour::kBold:
      break;
  }
  return {};
}

std::span<const Column> ColumnsOfTab(Tab tab) {
  switch (tab) {
    case Tab::kJobs:
      return kJobColumns;
    case Tab::kWorkers:
      return kWorkerColumns;
    case Tab::kReasons:
      return kReasonColumns;
    case Tab::kUsers:
      return kUserColumns;
    case Tab::kLimits:
      break;
  }
  return kLimitColumns;
}

Table BuildTable(const Model& model) {
  Table table;
  table.columns = ColumnsOfTab(model.tab);
  const Filter& filter = model.state().filter;
  const auto add = [&](Line line) {
    if (Passes(filter, line)) table.lines.push_back(std::move(line));
  };
  switch (model.tab) {
    case Tab::kJobs:
      if (!model.jobs) break;
      for (const allotter::Job& job : model.jobs->jobs) add(JobLine(model, job));
      table.more = !model.jobs->next.empty();
      break;
    case Tab::kWorkers:
      if (!model.workers) break;
      for (const allotter::WorkerInfo& worker : model.workers->workers) add(WorkerLine(model, worker));
      table.more = !model.workers->next.empty();
      break;
    case Tab::kReasons:
      if (!model.overview) break;
      for (const auto& reason : model.overview->reasons) add(ReasonLine(model, reason));
      break;
    case Tab::kUsers:
      if (!model.users) break;
      for (const allotter::UserInfo& user : model.users->users) add(UserLine(model, user));
      table.more = !model.users->next.empty();
      break;
    case Tab::kLimits:
      if (!model.limits) break;
      for (const allotter::Limit& limit : *model.limits) add(LimitLine(limit));
      break;
  }
  Sort(model.state(), table);
  return table;
}

std::vector<int> ColumnWidths(const Table& table, int width, bool unicode) {
  const std::size_t n = table.columns.size();
  std::vector<int> widths(n), least(n);
  std::vector<bool> shown(n, true);
  for (std::size_t i = 0; i < n; ++i) {
    int natural = ColumnsOf(table.columns[i].title, unicode) + 1;  // for the mark of the sorted one
    for (const Line& line : table.lines) {
      natural = std::max(natural,
                         line.fields[i].bar.empty() ? ColumnsOf(line.fields[i].text, unicode) : table.columns[i].most);
    }
    widths[i] = std::clamp(natural, table.columns[i].least, table.columns[i].most);
    least[i] = table.columns[i].whole ? widths[i] : table.columns[i].least;
  }
  const auto total = [&](const auto& width_of) {
    int sum = -1;
    for (std::size_t i = 0; i < n; ++i) {
      if (shown[i]) sum += width_of(i) + 1;
    }
    return sum;
  };
  // Columns go until the rest fits at its narrowest, and then the widest of the rest shrink.
  for (;;) {
    if (total([&](std::size_t i) { return least[i]; }) <= width) break;
    std::size_t first = n, left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!shown[i]) continue;
      ++left;
      if (first == n || table.columns[i].keep < table.columns[first].keep) first = i;
    }
    if (left <= 1) break;
    shown[first] = false;
  }
  for (int over = total([&](std::size_t i) { return widths[i]; }) - width; over > 0; --over) {
    std::size_t widest = n;
    for (std::size_t i = 0; i < n; ++i) {
      if (shown[i] && (widest == n || widths[i] - least[i] > widths[widest] - least[widest])) widest = i;
    }
    if (widths[widest] <= 1) break;
    --widths[widest];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!shown[i]) widths[i] = 0;
  }
  return widths;
}

void PutBar(Grid& grid, int row, int column, int columns, const Field& field, Look over) {
  double all = 0;
  for (const BarPart& part : field.bar) all += part.amount;
  if (columns <= 0) return;
  const std::size_t n = field.bar.size();
  std::vector<int> cells(n, 0);
  int used = 0;
  for (std::size_t i = 0; i < n && all > 0; ++i) {
    if (field.bar[i].amount <= 0) continue;
    cells[i] = std::max(1, static_cast<int>(field.bar[i].amount / all * columns));
    used += cells[i];
  }
  // What rounding left over goes to the largest part; what it took too much comes from there.
  while (used != columns && all > 0) {
    const std::size_t largest =
        used < columns ? static_cast<std::size_t>(
                             std::max_element(field.bar.begin(), field.bar.end(),
                                              [](const BarPart& a, const BarPart& b) { return a.amount < b.amount; }) -
                             field.bar.begin())
                       : static_cast<std::size_t>(std::max_element(cells.begin(), cells.end()) - cells.begin());
    const int step = used < columns ? 1 : -1;
    cells[largest] += step;
    used += step;
  }
  int at = column;
  for (std::size_t i = 0; i < n; ++i) {
    Look look = field.bar[i].look;
    look.reverse = over.reverse;
    for (int k = 0; k < cells[i]; ++k) at += grid.Put(row, at, field.bar[i].glyph, look, 1);
  }
  if (field.mark >= 0 && all > 0) {
    const int place = std::min(columns - 1, static_cast<int>(field.mark * columns));
    grid.Put(row, column + place, "│", {.bold = true, .reverse = over.reverse}, 1);
  }
}

const allotter::Job* FindJob(const Model& model, const std::string& id) {
  if (!model.jobs) return nullptr;
  for (const allotter::Job& job : model.jobs->jobs) {
    if (job.id == id) return &job;
  }
  return nullptr;
}

const allotter::WorkerInfo* FindWorker(const Model& model, const std::string& id) {
  if (!model.workers) return nullptr;
  for (const allotter::WorkerInfo& worker : model.workers->workers) {
    if (worker.id == id) return &worker;
  }
  return nullptr;
}

}  // namespace allot::cli::top
